// The three functions that every tool wraps. They are not inlined, because the measured call must
// not depend on their bodies.
#ifndef TYPEDCALL_BENCH_PEERS_NATIVE_H_
#define TYPEDCALL_BENCH_PEERS_NATIVE_H_

// With NATIVE_MAY_THROW the functions are not declared noexcept.
#if defined(__cplusplus) && !defined(NATIVE_MAY_THROW)
#define NATIVE_NOEXCEPT noexcept
#else
#define NATIVE_NOEXCEPT
#endif

#ifdef NATIVE_FUNCTION
// Defined by the including file.
#elif defined(NATIVE_MAY_THROW)
// Without noipa the compiler sees that the body cannot throw, and omits exception handling.
#define NATIVE_FUNCTION static __attribute__((noipa))
#else
#define NATIVE_FUNCTION static __attribute__((noinline))
#endif

NATIVE_FUNCTION long inc(long x) NATIVE_NOEXCEPT { return (long)((unsigned long)x + 1u); }

NATIVE_FUNCTION double add(double x, double y) NATIVE_NOEXCEPT { return x + y; }

NATIVE_FUNCTION double mix(double x, long m, double y, long n) NATIVE_NOEXCEPT {
  return x * (double)m + y * (double)n;
}

#ifdef __cplusplus
// More functions with the same signatures. Otherwise the compiler would inline more than in a real
// module.
template <int N>
__attribute__((noinline)) long other_inc(long x) NATIVE_NOEXCEPT {
  return (long)((unsigned long)x + N);
}
template <int N>
__attribute__((noinline)) double other_add(double x, double y) NATIVE_NOEXCEPT {
  return x + y + N;
}
template <int N>
__attribute__((noinline)) double other_mix(double x, long m, double y, long n) NATIVE_NOEXCEPT {
  return x * (double)m + y * (double)n + N;
}

// `row` is a macro that takes a name and a function.
#define OTHER_FUNCTIONS(row)                                                        \
  row("inc2", other_inc<2>) row("inc3", other_inc<3>) row("inc4", other_inc<4>)     \
      row("add2", other_add<2>) row("add3", other_add<3>) row("add4", other_add<4>) \
          row("mix2", other_mix<2>) row("mix3", other_mix<3>) row("mix4", other_mix<4>)
#endif

#endif  // TYPEDCALL_BENCH_PEERS_NATIVE_H_
