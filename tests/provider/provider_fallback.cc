// Functions that have no result for some arguments.

#include <cmath>
#include <complex>
#include <optional>
#include <stdexcept>
#include <string>

#include "typedcall/provider.h"

namespace {

using typedcall::arg;
using typedcall::def;
using typedcall::falls_back;
using typedcall::nothrow;
using typedcall::otherwise;
using typedcall::takes_self;

// --- By std::optional: empty below 0 ---

std::optional<double> root(double x) noexcept {
  if (x < 0) return std::nullopt;
  return std::sqrt(x);
}
std::optional<double> root_that_throws(double x) {
  if (x < -10) throw std::overflow_error("far below");
  return root(x);
}
std::optional<bool> is_small(long x) noexcept {
  if (x < 0) return std::nullopt;
  return x < 10;
}
std::optional<std::complex<double>> turned(std::complex<double> z) noexcept {
  if (z.real() < 0) return std::nullopt;
  return std::complex<double>(-z.imag(), z.real());
}
std::optional<long double> wide(long double x) noexcept {
  if (x < 0) return std::nullopt;
  return x / 2;
}
std::optional<const char *> text(long x) noexcept {
  if (x < 0) return std::nullopt;
  return x == 0 ? nullptr : "text";
}
std::optional<PyObject *> object(long x) noexcept {
  if (x < 0) return std::nullopt;
  return PyLong_FromLong(x);
}
std::optional<long> answer() noexcept { return 42; }
std::optional<long> no_answer() noexcept { return std::nullopt; }

// 20! is the largest factorial that fits into a long.
std::optional<long> factorial(long n) noexcept {
  if (n < 0 || n > 20) return std::nullopt;
  long product = 1;
  for (long i = 2; i <= n; ++i) product *= i;
  return product;
}
PyObject *big_factorial(long n) {
  if (n < 0) throw std::invalid_argument("negative: " + std::to_string(n));
  PyObject *math = PyImport_ImportModule("math");
  PyObject *result = math != nullptr ? PyObject_CallMethod(math, "factorial", "l", n) : nullptr;
  Py_XDECREF(math);
  return result;
}
double no_root(double x) {
  if (x < -100) PyErr_SetString(PyExc_LookupError, "set, not thrown");
  if (x < -10) throw std::domain_error("far below");
  return -1;  // a result
}

// --- By throwing ---

double half(double x) {
  if (x < 0) throw std::out_of_range("negative: " + std::to_string(x));
  return x / 2;
}
int gcd(int a, int b) {
  if (a < 0 || b < 0) throw std::invalid_argument("negative");
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}
void check(double x) {
  if (x < 0) throw std::invalid_argument("negative");
}
bool is_even(long x) {
  if (x < 0) throw std::domain_error("negative");
  return x % 2 == 0;
}

// --- By a status, as in C ---

int c_root(double x, double *result) noexcept {
  if (x < 0) return 7;
  *result = std::sqrt(x);
  return 0;
}
int c_root_that_throws(double x, double *result) {
  if (x < -10) throw 5;
  return c_root(x, result);
}
int c_check(double x, void *) noexcept { return x < 0; }

// --- With self, and as one of several overloads ---

int of_module(PyObject *self, double x, double *result) noexcept {
  *result = PyModule_Check(self) ? x : -1;
  return x < 0;
}
std::optional<double> twice_float(double x) noexcept {
  if (x < 0) return std::nullopt;
  return 2 * x;
}
std::optional<long> twice_int(long x) noexcept {
  if (x < 0) return std::nullopt;
  return 2 * x;
}

typedcall::method_table methods{
    def<root>("root"),
    def<root>("named_root", arg("x") = 4.0),
    def<root_that_throws>("root_that_throws", falls_back),
    def<root>("root_otherwise", otherwise<no_root>),
    def<is_small>("is_small"),
    def<turned>("turned"),
    def<wide>("wide"),
    def<text>("text"),
    def<object>("object"),
    def<answer>("answer"),
    def<no_answer>("no_answer"),
    def<factorial>("factorial", otherwise<big_factorial>, "n!"),
    def<half>("half", falls_back),
    def<gcd>("gcd", falls_back, arg("a"), arg("b") = 6),
    def<check>("check", falls_back),
    def<is_even>("is_even", falls_back),
    def<c_root>("c_root", falls_back),
    def<c_root>("c_root_otherwise", falls_back, otherwise<no_root>),
    def<c_root_that_throws>("c_root_that_throws", falls_back),
    def<c_check>("c_check", falls_back),
    def<of_module>("of_module", falls_back | takes_self | nothrow),
    def<twice_float, twice_int>("twice"),
};

}  // namespace

TYPEDCALL_MODULE(provider_fallback, "Functions that fall back.", methods);
