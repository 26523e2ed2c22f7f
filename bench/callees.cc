// The functions that the benchmarks call. They are compiled separately, so that callers cannot
// inline them.
#include "bench/callees.h"

namespace bench {

double dd_d(double x, double y) noexcept { return x + y; }

long l_l(long x) noexcept { return x + 1; }

long ll_l(long x, long y) noexcept { return x + y; }

double dldl_d(double x, long m, double y, long n) noexcept {
  return x + y + static_cast<double>(m + n);
}

double ldldldld_d(long a, double b, long c, double d, long e, double f, long g, double h) noexcept {
  return static_cast<double>(a + c + e + g) + b + d + f + h;
}

long llllllll_l(long a, long b, long c, long d, long e, long f, long g, long h) noexcept {
  return a + b + c + d + e + f + g + h;
}

std::uint64_t kB_L(typedcall::span<const unsigned char> bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

}  // namespace bench
