// Functions that fall back by returning an empty std::optional, throwing an exception or returning
// a status. The module's `calls` counts native calls.

#include <atomic>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "typedcall/provider.h"

namespace {

std::atomic<long> count{0};

std::optional<double> root(double x) noexcept {
  ++count;
  if (x < 0) return std::nullopt;
  return std::sqrt(x);
}
double half(double x) {
  if (x < 0) throw std::domain_error("negative: " + std::to_string(x));
  return x / 2;
}
int c_root(double x, double *result) noexcept {
  if (x < 0) return 7;
  *result = std::sqrt(x);
  return 0;
}
double tenfold(double x) {
  if (x < -1000) throw std::out_of_range("far below");
  return 10 * x;
}
int gcd(int a, int b) {
  if (a < 0 || b < 0) throw std::invalid_argument("negative");
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
std::optional<long> square(long x) noexcept {
  long result;
  if (__builtin_mul_overflow(x, x, &result)) return std::nullopt;
  return result;
}
PyObject *big_square(long x) {
  PyObject *integer = PyLong_FromLong(x);
  PyObject *result = integer != nullptr ? PyNumber_Multiply(integer, integer) : nullptr;
  Py_XDECREF(integer);
  return result;
}
bool is_even(long x) {
  if (x < 0) throw std::domain_error("negative");
  return x % 2 == 0;
}
float narrow(float x) {
  if (x < 0) throw std::domain_error("negative");
  return x / 2;
}
std::optional<double> of_float(double x) noexcept {
  if (x < 0) return std::nullopt;
  return x + 0.5;
}
std::optional<long> of_int(long x) noexcept {
  if (x < 0) return std::nullopt;
  return x + 1;
}
std::optional<double> of_small(int x) noexcept { return x + 0.5; }
double negated(double x) noexcept { return -x; }
int check(double x, void *) noexcept { return x < 0; }
std::optional<double> at(PyObject *, double x) noexcept { return root(x); }
double total(const double *first, long length) {
  double sum = 0;
  for (long i = 0; i < length; ++i) sum += first[i];
  if (sum < 0) throw std::domain_error("negative sum");
  return sum;
}
long calls() noexcept { return count; }

using typedcall::def;
using typedcall::falls_back;
using typedcall::thread_safe;

typedcall::method_table methods{
    def<root>("root", thread_safe),
    def<half>("half", falls_back | thread_safe),
    def<half>("half_alone", falls_back),
    def<c_root>("c_root", falls_back | thread_safe),
    def<c_root>("tenfold", falls_back | thread_safe, typedcall::otherwise<tenfold>),
    def<gcd>("gcd", falls_back | thread_safe),
    def<square>("square", thread_safe, typedcall::otherwise<big_square>),
    def<is_even>("is_even", falls_back | thread_safe),
    def<narrow>("narrow", falls_back | thread_safe),
    def<of_float, of_int>("both"),
    def<of_small, negated>("exact_or_cast"),
    def<check>("check", falls_back),
    def<at>("at", typedcall::takes_self),
    def<total>("total", falls_back),
    def<calls>("calls"),
};

}  // namespace

TYPEDCALL_MODULE(fallback_functions, "Functions that fall back.", methods);
