// The functions that bench/loops.cc calls.
#include "bench/loop_callees.h"

namespace bench {

double twice(double x) noexcept { return x + x; }

double plus(double x, double y) noexcept { return x + y; }

long next(long x) noexcept { return x + 1; }

float half(float x) noexcept { return x * 0.5f; }

double mixed(double x, long m, double y, long n) noexcept {
  return x + y + static_cast<double>(m + n);
}

double integrand(double x) noexcept { return x * x / 2 + 1 / (1 + x * x); }

}  // namespace bench
