// The functions that the benchmarks call. They do as little work as possible, because the call is
// measured. They are compiled separately, and no optimiser sees both sides of a call.
#ifndef TYPEDCALL_BENCH_CALLEES_H_
#define TYPEDCALL_BENCH_CALLEES_H_

#include "typedcall/resolve.h"
// resolve.h comes first because it includes Python.h.
#include <cstdint>

namespace bench {

double dd_d(double x, double y) noexcept;
long l_l(long x) noexcept;
long ll_l(long x, long y) noexcept;
double dldl_d(double x, long m, double y, long n) noexcept;
double ldldldld_d(long a, double b, long c, double d, long e, double f, long g, double h) noexcept;
/// The arguments are more integers than x86-64 passes in registers.
long llllllll_l(long a, long b, long c, long d, long e, long f, long g, long h) noexcept;

/// A function of a buffer, "*kB->L": the hash of Fowler, Noll and Vo.
std::uint64_t kB_L(typedcall::span<const unsigned char> bytes) noexcept;

}  // namespace bench

#endif  // TYPEDCALL_BENCH_CALLEES_H_
