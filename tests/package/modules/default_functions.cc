// Functions whose parameters have names and defaults. The digits of a result show which parameter
// received each argument. The module's `calls` counts native calls.
#include "typedcall/provider.h"

// After Python.h.
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace {

using typedcall::arg;
using typedcall::def;
using typedcall::positional;

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

std::atomic<long> count{0};
long calls() noexcept { return count; }

double distance(double a, double b, double c, double d, double radius) noexcept {
  ++count;
  return a + 10 * b + 100 * c + 1000 * d + radius;
}
int digits(int a, int b, int c) noexcept {
  ++count;
  return 100 * a + 10 * b + c;
}
double mixed(double x, short n, bool flag, float z) noexcept {
  ++count;
  return flag ? x * n + double{z} : double{z};
}
double by_position(double x, double y) noexcept {
  ++count;
  return x - y;
}
double half_by_position(double x, double y, double z) noexcept {
  ++count;
  return x - 10 * y + 100 * z;
}
double below(double x, double limit) {
  ++count;
  if (x > limit) throw std::domain_error("above the limit");
  return limit - x;
}
int status(int x, int y, int *result) noexcept {
  ++count;
  if (x == 13) {
    PyErr_SetString(PyExc_ValueError, "thirteen");
    return -1;
  }
  *result = x - y;
  return 0;
}
std::optional<double> root(double x, double factor) noexcept {
  ++count;
  if (x < 0) return std::nullopt;
  return factor * std::sqrt(x);
}
PyObject *no_root(double x, double factor) noexcept { return PyLong_FromDouble(x * factor); }
long area_of_ints(long width, long height) noexcept {
  ++count;
  return width * height;
}
double area_of_floats(double width, double height) noexcept {
  ++count;
  return width * height + 0.5;
}
double with_nan(double x, double y, double z) noexcept {
  ++count;
  return std::isnan(y) ? x - z : x + y - z;
}
double all_optional(double x, double y) noexcept {
  ++count;
  return x - y;
}
float single(float x, float by) noexcept {
  ++count;
  return x * by;
}
double plain(double x, double y) noexcept {
  ++count;
  return x - y;
}

typedcall::method_table methods{
    def<calls>("calls", simple),
    def<distance>("distance", simple, arg("a"), arg("b"), arg("c") = 1.0, arg("d") = 2.0,
                  arg("radius") = 6371.5),
    def<digits>("digits", simple, arg("a") = 7, arg("b") = 8, arg("c") = 9),
    def<mixed>("mixed", simple, arg("x"), arg("n") = 2, arg("flag") = true, arg("z") = 0.1),
    def<by_position>("by_position", simple, positional("x"), positional("y") = 0.5),
    def<half_by_position>("half_by_position", simple, positional("x"), arg("y") = 2,
                          arg("z") = -1.0),
    def<below>("below", typedcall::thread_safe, arg("x"), arg("limit") = 10),
    def<status>("status", typedcall::returns_status, arg("x"), arg("y") = 3),
    def<root>("root", simple, typedcall::otherwise<no_root>, arg("x"), arg("factor") = 2.0),
    def<area_of_ints, area_of_floats>("area", simple, arg("width"), arg("height") = 2),
    def<with_nan>("with_nan", simple, arg("x"), arg("y") = std::numeric_limits<double>::quiet_NaN(),
                  arg("z") = 1.0),
    def<all_optional>("all_optional", simple, arg("x") = 1.5, arg("y") = -0.0),
    def<single>("single", simple, arg("x"), arg("by") = 0.1),
    def<plain>("plain", simple),
};

}  // namespace

TYPEDCALL_MODULE(default_functions, "Names and defaults.", methods);
