// The functions that the benchmarks call: as little work as possible, so that the call is what is
// measured. They are compiled apart, and no optimiser sees both sides.
#ifndef TYPEDCALL_BENCH_CALLEES_H_
#define TYPEDCALL_BENCH_CALLEES_H_

namespace bench {

double dd_d(double x, double y) noexcept;
long l_l(long x) noexcept;
double dldl_d(double x, long m, double y, long n) noexcept;

}  // namespace bench

#endif  // TYPEDCALL_BENCH_CALLEES_H_
