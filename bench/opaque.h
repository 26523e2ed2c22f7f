// Hides values from the optimiser. gcc 12 miscompiles Google Benchmark's DoNotOptimize in such
// loops.
#ifndef TYPEDCALL_BENCH_OPAQUE_H_
#define TYPEDCALL_BENCH_OPAQUE_H_

#include <type_traits>

#if defined(__x86_64__)
#define TYPEDCALL_BENCH_FLOATING_REGISTER "x"
#else
#define TYPEDCALL_BENCH_FLOATING_REGISTER "w"
#endif

namespace bench {

/// Hides `value` from the compiler. The compiler may still assume that memory does not change.
template <class T>
inline void hide(T &value) {
  if constexpr (std::is_floating_point_v<T>) {
    asm volatile("" : "+" TYPEDCALL_BENCH_FLOATING_REGISTER(value));
  } else {
    asm volatile("" : "+r"(value));
  }
}

/// Makes the compiler compute `value`, even though it is not used.
template <class T>
inline void consume(T value) {
  hide(value);
}

}  // namespace bench

#endif  // TYPEDCALL_BENCH_OPAQUE_H_
