// Typed functions for numerical libraries. They need no headers of these libraries.
#include "typedcall/provider.h"
// After Python.h.
#include <cmath>
#include <stdexcept>

using typedcall::span;

double bell(double x) noexcept { return std::exp(-x * x); }
double wave(double x) {
  if (!(x >= 0)) throw std::domain_error("wave: x is below 0");
  return std::cos(std::sqrt(x));
}
// The Rosenbrock function. Computes the gradient only if the caller wants it.
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

constexpr auto simple = typedcall::pure | typedcall::thread_safe;
static typedcall::method_table methods{
    typedcall::def<bell>("bell", simple),
    typedcall::def<wave>("wave", simple | typedcall::falls_back),
    typedcall::def<valley>("valley", typedcall::thread_safe),
    typedcall::def<ball>("ball", simple),
    typedcall::def<spring>("spring", typedcall::thread_safe),
};
TYPEDCALL_MODULE(functions, "Functions that numerical libraries call.", methods);
