// The functions of buffer_functions.c, with generated wrappers.
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "typedcall/provider.h"
// After Python.h.
#include "typedcall/boxed_call.h"

namespace {

using typedcall::def;
using typedcall::span;
using typedcall::spans;

double norm(span<const double> x) noexcept {
  double sum = 0;
  for (const double each : x) sum += each * each;
  return std::sqrt(sum);
}
double dot(span<const double> x, span<const double> y) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) sum += x[i] * y[i];
  return sum;
}
double power(span<const double> x, double p) noexcept {
  double sum = 0;
  for (const double each : x) sum += std::pow(std::fabs(each), p);
  return sum;
}
double times(span<const double> x, int k) noexcept { return k * norm(x); }
void twice(const double *x, Py_ssize_t n, double *y, Py_ssize_t m) noexcept {
  for (Py_ssize_t i = 0; i < n && i < m; ++i) y[i] = 2 * x[i];
}
double normalise(double *x, Py_ssize_t n) noexcept {
  const double length = norm({x, static_cast<std::size_t>(n)});
  for (Py_ssize_t i = 0; i < n; ++i) x[i] /= length;
  return length;
}
std::uint64_t hash(span<const unsigned char> x) noexcept {
  std::uint64_t made = 1469598103934665603u;
  for (const unsigned char each : x) made = (made ^ each) * 1099511628211u;
  return made;
}
long total(span<const long> x) noexcept {
  unsigned long sum = 0;
  for (const long each : x) sum += static_cast<unsigned long>(each);
  return static_cast<long>(sum);
}
float largest(span<const float> x) noexcept {
  float most = 0;
  for (const float each : x) most = each > most ? each : most;
  return most;
}
void negate(span<int> x) noexcept {
  for (int &each : x) each = static_cast<int>(-static_cast<unsigned>(each));
}
double mean_of(span<const double> x) {
  if (x.empty()) throw std::invalid_argument("no mean of nothing");
  double sum = 0;
  for (const double each : x) sum += each;
  return sum / static_cast<double>(x.size());
}
double mean(span<const double> x) noexcept {
  if (!x.empty()) return mean_of(x);
  PyErr_SetString(PyExc_ValueError, "no mean of nothing");
  return -1.0;
}
int mean_or_status(const double *x, Py_ssize_t n, double *result) noexcept {
  *result = mean({x, static_cast<std::size_t>(n)});
  return n == 0 ? -1 : 0;
}
Py_ssize_t utf8_length(std::string_view text) noexcept {
  return static_cast<Py_ssize_t>(text.size());
}

// Calls a Python callable with spans, and returns its result and the data that it wrote.
PyObject *call_boxed(PyObject *callable) {
  double numbers[] = {1.5, -2.5, 4.0};
  const long constant[] = {7, 1L << 40};
  PyNativeType_ComplexDouble parts[2];
  for (int i = 0; i < 2; ++i) {
    __real__ parts[i] = i;
    __imag__ parts[i] = 0.5;
  }
  PyObject *result = nullptr;
  if (!typedcall::boxed_call(callable, &result, span<double>(numbers), span<const long>(constant),
                             span<PyNativeType_ComplexDouble>(parts), span<float>(),
                             span<const unsigned char>(), span<const char>("text", 4))) {
    return nullptr;
  }
  return Py_BuildValue("N(ddd)", result, numbers[0], numbers[1], numbers[2]);
}

constexpr auto safe = typedcall::thread_safe;
typedcall::method_table methods{
    def<norm>("norm", safe),
    def<dot>("dot", safe),
    def<power>("power", safe),
    def<times>("times", safe),
    def<spans<twice>>("twice", safe),
    def<spans<normalise>>("normalise", safe),
    def<hash>("hash", safe),
    def<total>("total", safe),
    def<largest>("largest", safe),
    def<negate>("negate", safe),
    def<mean>("mean", typedcall::may_raise),
    def<spans<mean_or_status>>("mean_or_status", typedcall::returns_status),
    def<mean_of>("mean_or_fall_back", safe | typedcall::falls_back),
    def<utf8_length>("utf8_length", safe),
    def<call_boxed>("call_boxed", typedcall::may_raise)};

}  // namespace

TYPEDCALL_MODULE(buffer_provider, "Functions of buffers.", methods);
