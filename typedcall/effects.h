// What a provider says of a function beyond its type, as compile-time tags that can be joined:
// typedcall::pure | typedcall::thread_safe.
#ifndef TYPEDCALL_EFFECTS_H_
#define TYPEDCALL_EFFECTS_H_

#include <cstdint>

#include "typedcall/native_callable.h"

namespace typedcall {

template <std::uint64_t Bits>
struct effects {
  static constexpr std::uint64_t bits = Bits;
};

template <std::uint64_t A, std::uint64_t B>
constexpr effects<A | B> operator|(effects<A>, effects<B>) {
  return {};
}

namespace internal {
/// Above the 32 bits that an entry's flags have: a promise to the compiler, not to consumers.
inline constexpr std::uint64_t cannot_throw = std::uint64_t{1} << 32;
}  // namespace internal

/// Sets a Python exception and then returns the error value of its class (error_value.h).
inline constexpr effects<PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD> may_raise{};
/// Uses the Python C API, so it is only called with the GIL held. Implied by objects in the type.
inline constexpr effects<PyNativeCallable_NEEDS_THREAD> needs_gil{};
/// May run in several threads at once.
inline constexpr effects<PyNativeCallable_THREAD_SAFE> thread_safe{};
/// Same arguments, same result, nothing else happens.
inline constexpr effects<PyNativeCallable_PURE> pure{};
/// Does not block.
inline constexpr effects<PyNativeCallable_SHORT> does_not_block{};
/// Throws no C++ exception although its type does not say noexcept: a C function.
inline constexpr effects<internal::cannot_throw> nothrow{};

}  // namespace typedcall

#endif  // TYPEDCALL_EFFECTS_H_
