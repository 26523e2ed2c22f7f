// The functions that the benchmarks call. They do little work, because only the call is measured.
#ifndef TYPEDCALL_BENCH_CALLEES_H_
#define TYPEDCALL_BENCH_CALLEES_H_

#include "typedcall/resolve.h"
// resolve.h includes Python.h, which must come first.
#include <cstdint>

namespace bench {

double dd_d(double x, double y) noexcept;
long l_l(long x) noexcept;
long ll_l(long x, long y) noexcept;
double dldl_d(double x, long m, double y, long n) noexcept;
double ldldldld_d(long a, double b, long c, double d, long e, double f, long g, double h) noexcept;
/// x86-64 passes six integers in registers.
long llllllll_l(long a, long b, long c, long d, long e, long f, long g, long h) noexcept;

/// Hashes a buffer (the FNV hash).
std::uint64_t kB_L(typedcall::span<const unsigned char> bytes) noexcept;

}  // namespace bench

#endif  // TYPEDCALL_BENCH_CALLEES_H_
