// Typed functions that tests pass to libraries as callbacks.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "typedcall/provider.h"

namespace {

using typedcall::def;
using typedcall::falls_back;
using typedcall::span;
using typedcall::thread_safe;

std::atomic<long> count{0};

double half(double x) noexcept { return x / 2; }
float half_of_float(float x) noexcept { return x / 2; }
long twice(long x) noexcept { return 2 * x; }
double root(double x) {
  ++count;
  if (x < 0) throw std::domain_error("no root");
  return std::sqrt(x);
}
double total(span<const double> x) noexcept {
  double sum = 0;
  for (const double each : x) sum += each;
  return sum;
}
double checked_total(span<const double> x) {
  const double sum = total(x);
  if (sum < 0) throw std::domain_error("negative");
  return sum;
}
double squares(span<const double> x, span<double> gradient) noexcept {
  double sum = 0;
  for (const double each : x) sum += each * each;
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = 2 * x[i];
  return sum;
}
double checked_squares(span<const double> x, span<double> gradient) {
  if (x.size() > 0 && x[0] < 0) throw std::domain_error("x[0] < 0");
  return squares(x, gradient);
}
void decay(double t, span<const double> y, span<double> rate) noexcept {
  for (std::size_t i = 0; i < y.size() && i < rate.size(); ++i) rate[i] = -t * y[i];
}
void checked_decay(double t, span<const double> y, span<double> rate) {
  if (t < 0) throw std::domain_error("t < 0");
  decay(t, y, rate);
}
int decay_with_status(double t, span<const double> y, span<double> rate) noexcept {
  if (t < 0) return 7;
  decay(t, y, rate);
  return 0;
}
void cumulated(span<const double> x, span<double> values) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = sum += x[i % x.size()];
}
double product(double x, double y) noexcept { return x * y; }
int dot(double, span<const double> x, span<const double> y) noexcept {
  return static_cast<int>(x[0] * y[0]);
}
int compare(double x, double y) noexcept { return (x > y) - (x < y); }
void store(double x, double *to) noexcept { *to = x + 1; }
std::uint8_t low(std::uint32_t x) noexcept { return static_cast<std::uint8_t>(x); }
bool is_small(double x) noexcept { return x < 1; }
double of_self(PyObject *self, double x) noexcept { return self != nullptr ? x + 1 : x; }
long calls() noexcept { return count; }

typedcall::method_table methods{
    def<half>("half", thread_safe),
    def<half>("half_in_one_thread"),
    def<half_of_float>("half_of_float", thread_safe),
    def<twice>("twice", thread_safe),
    def<root>("root", falls_back | thread_safe),
    def<root>("raising_root"),
    def<total>("total", thread_safe),
    def<checked_total>("checked_total", falls_back | thread_safe),
    def<checked_total>("raising_total"),
    def<squares>("squares", thread_safe),
    def<checked_squares>("checked_squares", falls_back | thread_safe),
    def<decay>("decay", thread_safe),
    def<checked_decay>("checked_decay", falls_back | thread_safe),
    def<decay_with_status>("decay_with_status", thread_safe),
    def<cumulated>("cumulated", thread_safe),
    def<product>("product", thread_safe),
    def<dot>("dot", thread_safe),
    def<compare>("compare", thread_safe),
    def<store>("store", thread_safe),
    def<low>("low", thread_safe),
    def<is_small>("is_small", thread_safe),
    def<half, total>("half_or_total", thread_safe),
    def<of_self>("of_self", typedcall::takes_self),
    def<calls>("calls"),
};

}  // namespace

TYPEDCALL_MODULE(callback_functions, "Functions that libraries call back.", methods);
