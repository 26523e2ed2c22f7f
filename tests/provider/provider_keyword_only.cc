// Functions whose last parameters Python passes by name only.

#include <stdexcept>

#include "typedcall/provider.h"

namespace {

using typedcall::arg;
using typedcall::keyword_only;
using typedcall::positional;

// Decimal digits show which value went where.
long digits(long a, long b, long c) noexcept { return 100 * a + 10 * b + c; }
constexpr auto digits_last = +[](long a, long b, long c) noexcept { return digits(a, b, c); };
constexpr auto digits_all = +[](long a, long b, long c) noexcept { return digits(a, b, c); };
constexpr auto digits_every_kind = +[](long a, long b, long c) noexcept { return digits(a, b, c); };
constexpr auto digits_defaults = +[](long a, long b, long c) noexcept { return digits(a, b, c); };
constexpr auto digits_behind = +[](long a, long b, long c) noexcept { return digits(a, b, c); };
constexpr auto digits_mixed = +[](long a, long b, long c) noexcept { return digits(a, b, c); };
constexpr auto digits_required = +[](long a, long b, long c) noexcept { return digits(a, b, c); };
long one(long x) noexcept { return x; }
double offset(double x, double by) noexcept { return x + by; }
constexpr auto offset_unicode = +[](double x, double by) noexcept { return x + by; };
long area_of_ints(long width, long height) noexcept { return width * height; }
double area_of_floats(double width, double height) noexcept { return width * height; }
double sum(typedcall::span<const double> values, double start) noexcept {
  for (const double each : values) start += each;
  return start;
}
double root(double x, double least) {
  if (x < least) throw std::domain_error("too small");
  return x;
}
float narrow(float x, float by) noexcept { return x * by; }
PyObject *object_or_none(PyObject *object) noexcept {
  Py_INCREF(object);
  return object;
}

typedcall::method_table methods{
    typedcall::def<digits_last>("last", arg("a"), arg("b"), keyword_only, arg("c") = 9),
    typedcall::def<digits_all>("all_three", keyword_only, arg("a"), arg("b"), arg("c")),
    typedcall::def<digits_every_kind>("every_kind", positional("a"), arg("b"), keyword_only,
                                      arg("c")),
    typedcall::def<digits_defaults>("defaults", arg("a") = 7, keyword_only, arg("b") = 8,
                                    arg("c") = 9),
    // Behind keyword_only, what has no default may stand anywhere.
    typedcall::def<digits_behind>("behind", arg("a") = 7, keyword_only, arg("b"), arg("c") = 9),
    typedcall::def<digits_mixed>("mixed", arg("a"), keyword_only, arg("b") = 8, arg("c")),
    typedcall::def<digits_required>("required", arg("a"), keyword_only, arg("b"), arg("c")),
    // The mark has its place among parameters, and everything else has none.
    typedcall::def<one>("one", keyword_only, typedcall::pure, "Documented.", arg("x")),
    typedcall::def<one>("one_again", keyword_only, arg("x"), "Documented."),
    // Another kind of parameter: not the same function with other names.
    typedcall::def<one>("one_by_position", arg("number") = 3),
    typedcall::def<offset>("offset", arg("x"), keyword_only, arg("by") = 0.5),
    typedcall::def<offset_unicode>("unicode", arg("x"), keyword_only, arg("\xc3\xa9") = 0.5),
    typedcall::def<area_of_ints, area_of_floats>("area", arg("width"), keyword_only,
                                                 arg("height") = 2),
    typedcall::def<sum>("sum", arg("values"), keyword_only, arg("start") = 0.0),
    typedcall::def<root>("root", arg("x"), keyword_only, arg("least") = 0.0, typedcall::falls_back),
    typedcall::def<narrow>("narrow", arg("x"), keyword_only, arg("by") = 2.0f, typedcall::widened),
    typedcall::def<object_or_none>("object_or_none", keyword_only, arg("object") = nullptr),
};

}  // namespace

TYPEDCALL_MODULE(provider_keyword_only, "Keyword-only parameters.", methods);
