// Functions with keyword-only parameters. The digits of a result show which parameter received each
// argument. The module's `calls` counts native calls.
#include "typedcall/provider.h"

// After Python.h.
#include <atomic>
#include <cmath>
#include <optional>

namespace {

using typedcall::arg;
using typedcall::def;
using typedcall::keyword_only;
using typedcall::positional;

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

std::atomic<long> count{0};
long calls() noexcept { return count; }

double digits(double a, double b, double c) noexcept {
  ++count;
  return 100 * a + 10 * b + c;
}
std::optional<double> root(double x, double factor) noexcept {
  ++count;
  if (x < 0) return std::nullopt;
  return factor * std::sqrt(x);
}
double no_root(double x, double factor) noexcept { return x * factor; }
long area_of_ints(long width, long height) noexcept {
  ++count;
  return width * height;
}
double area_of_floats(double width, double height) noexcept {
  ++count;
  return width * height + 0.5;
}
double sum(typedcall::span<const double> values, double start) noexcept {
  ++count;
  for (const double each : values) start += each;
  return start;
}
int narrow(int x, int by) noexcept {
  ++count;
  return x * by;
}

typedcall::method_table methods{
    def<calls>("calls", simple),
    def<digits>("last", simple, positional("a"), arg("b"), keyword_only, arg("c") = 9),
    def<digits>("all_three", simple, keyword_only, arg("a"), arg("b"), arg("c")),
    def<digits>("behind", simple, arg("a") = 7, keyword_only, arg("b"), arg("c") = 9),
    def<digits>("between", simple, arg("a"), keyword_only, arg("b") = 8, arg("c")),
    def<root>("root", simple, typedcall::otherwise<no_root>, arg("x"), keyword_only,
              arg("factor") = 2.0),
    def<area_of_ints, area_of_floats>("area", simple, arg("width"), keyword_only,
                                      arg("height") = 2),
    def<sum>("sum", simple, arg("values"), keyword_only, arg("start") = 0.0),
    def<narrow>("narrow", simple, arg("x"), keyword_only, arg("by") = 3),
};

}  // namespace

TYPEDCALL_MODULE(keyword_only_functions, "Keyword-only parameters.", methods);
