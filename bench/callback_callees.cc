// The functions of callbacks.py, both as typed functions and as hand-written callbacks.
#include "typedcall/provider.h"
// After Python.h.
#include <cmath>
#include <cstdint>
#include <stdexcept>

// Defined by SUNDIALS, if that library is loaded.
extern "C" __attribute__((weak)) double *N_VGetArrayPointer(void *vector);

namespace {

using typedcall::span;

double bell(double x) noexcept { return std::exp(-x * x); }
double identity(double x) noexcept { return x; }
double valley(span<const double> x, span<double> gradient) noexcept {
  const double step = 1 - x[0], across = x[1] - x[0] * x[0];
  if (gradient.size() == 2) {
    gradient[0] = -2 * step - 400 * x[0] * across;
    gradient[1] = 200 * across;
  }
  return step * step + 100 * across * across;
}
double ball(span<const double> x) noexcept {
  double square = 0;
  for (const double each : x) square += each * each;
  return square < 1 ? std::sqrt(1 - square) : 0;
}
void spring(double, span<const double> state, span<double> rate) noexcept {
  rate[0] = state[1];
  rate[1] = -state[0];
}

double bell_by_hand(double x, void *) { return bell(x); }
double identity_by_hand(double x, void *) { return identity(x); }
double valley_by_hand(unsigned n, const double *x, double *gradient, void *) {
  return valley({x, n}, {gradient, gradient != nullptr ? n : 0});
}
int ball_by_hand(unsigned n, const double *x, void *, unsigned, double *value) {
  *value = ball({x, n});
  return 0;
}
int spring_by_hand(double t, const double y[], double rate[], void *) {
  spring(t, {y, 2}, {rate, 2});
  return 0;
}
int spring_of_vectors_by_hand(double t, void *y, void *rate, void *) {
  spring(t, {N_VGetArrayPointer(y), 2}, {N_VGetArrayPointer(rate), 2});
  return 0;
}

/// Calls f `count` times. Each argument depends on the previous result.
double sum(std::uintptr_t address, std::uintptr_t data, long count) noexcept {
  auto *const f = reinterpret_cast<double (*)(double, void *)>(address);
  double x = 0;
  for (long i = 0; i < count; ++i) x = f(x, reinterpret_cast<void *>(data)) + 1;
  return x;
}
/// Calls f `count` times. The arguments do not depend on results.
double sum_of_many(std::uintptr_t address, std::uintptr_t data, long count) noexcept {
  auto *const f = reinterpret_cast<double (*)(double, void *)>(address);
  double total = 0;
  for (long i = 0; i < count; ++i) {
    total += f(static_cast<double>(i), reinterpret_cast<void *>(data));
  }
  return total;
}

template <class F>
std::uintptr_t at(F *function) {
  return reinterpret_cast<std::uintptr_t>(function);
}
std::uintptr_t identity_address() { return at(identity_by_hand); }
std::uintptr_t bell_address() { return at(bell_by_hand); }
std::uintptr_t valley_address() { return at(valley_by_hand); }
std::uintptr_t ball_address() { return at(ball_by_hand); }
std::uintptr_t spring_address() { return at(spring_by_hand); }
std::uintptr_t vectors_address() { return at(spring_of_vectors_by_hand); }

using typedcall::def;
using typedcall::thread_safe;
double checked_identity(double x) {
  if (x < 0) throw std::domain_error("below 0");
  return x;
}

typedcall::method_table methods{
    def<bell>("bell", thread_safe),
    def<identity>("identity", thread_safe),
    def<checked_identity>("checked_identity", thread_safe | typedcall::falls_back),
    def<identity>("identity_with_gil"),
    def<valley>("valley", thread_safe),
    def<ball>("ball", thread_safe),
    def<spring>("spring", thread_safe),
    def<sum>("sum"),
    def<sum_of_many>("sum_of_many"),
    def<identity_address>("identity_address"),
    def<bell_address>("bell_address"),
    def<valley_address>("valley_address"),
    def<ball_address>("ball_address"),
    def<spring_address>("spring_address"),
    def<vectors_address>("vectors_address"),
};

}  // namespace

TYPEDCALL_MODULE(callback_callees, "Functions that libraries call, typed and by hand.", methods);
