// The functions that bench/loops.cc calls. They are compiled separately, so that the loops cannot
// inline them.
#ifndef TYPEDCALL_BENCH_LOOP_CALLEES_H_
#define TYPEDCALL_BENCH_LOOP_CALLEES_H_

namespace bench {

double twice(double x) noexcept;
double plus(double x, double y) noexcept;
long next(long x) noexcept;
float half(float x) noexcept;
double mixed(double x, long m, double y, long n) noexcept;
/// x*x/2 + 1/(1 + x*x)
double integrand(double x) noexcept;

}  // namespace bench

#endif  // TYPEDCALL_BENCH_LOOP_CALLEES_H_
