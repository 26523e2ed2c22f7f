// Properties of a function that its type does not show. They can be combined: typedcall::pure |
// typedcall::thread_safe.
#ifndef TYPEDCALL_BASE_EFFECTS_H_
#define TYPEDCALL_BASE_EFFECTS_H_

#include <cstdint>

#include "typedcall/base/namespace.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

template <std::uint64_t Bits>
struct effects {
  static constexpr std::uint64_t bits = Bits;
};

template <std::uint64_t A, std::uint64_t B>
constexpr effects<A | B> operator|(effects<A>, effects<B>) {
  return {};
}

namespace internal {
// The flags of an entry have 32 bits. Higher bits are used only at compile time.
inline constexpr std::uint64_t entry_bits = 0xffffffff;
inline constexpr std::uint64_t cannot_throw = std::uint64_t{1} << 32;
inline constexpr std::uint64_t of_class = std::uint64_t{1} << 33;
inline constexpr std::uint64_t of_static = std::uint64_t{1} << 34;
inline constexpr std::uint64_t without_gil = std::uint64_t{1} << 35;
inline constexpr std::uint64_t for_double = std::uint64_t{1} << 36;
}  // namespace internal

/// On failure, the function sets a Python exception and returns the error value of its result type
/// (error_value.h).
inline constexpr effects<PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD> may_raise{};
/// The function returns 0, or any other int with a Python exception set. If the last parameter is a
/// pointer to a value, as in `int f(double x, bool *result)`, the result is stored through this
/// pointer. Otherwise the result is None.
inline constexpr effects<PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD>
    returns_status{};
/// The function has no result for some arguments. For these arguments, consumers call the Python
/// callable. The function may be:
/// - a function that throws to fall back (the Python function raises that exception);
/// - `int f(double x, double *result)`, which stores the value and returns 0, or returns another
///   int to fall back;
/// - a function that returns `std::optional`, which implies this effect. The function must be
///   noexcept unless this effect is also stated.
/// A call that falls back must not have any effect. The function must not use Python without
/// needs_gil, because consumers call it without the GIL. See otherwise<> for Python's result.
inline constexpr effects<PyNativeCallable_FALLS_BACK> falls_back{};
/// The first parameter is self, as a `PyObject *` or a pointer to the struct of the object. Self is
/// the instance for a method, the class for a class method, and the module for a function of a
/// module.
inline constexpr effects<PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD> takes_self{};
/// The function uses the Python C API and must be called with the GIL held. Implied if the function
/// takes or returns objects.
inline constexpr effects<PyNativeCallable_NEEDS_THREAD> needs_gil{};
/// The function may run in several threads at once.
inline constexpr effects<PyNativeCallable_THREAD_SAFE> thread_safe{};
/// The same arguments always give the same result, and there are no side effects.
inline constexpr effects<PyNativeCallable_PURE> pure{};
/// The function does not block.
inline constexpr effects<PyNativeCallable_SHORT> does_not_block{};
/// The function does not throw, although its type is not noexcept. Use this for C functions and for
/// functions that run Python code. CPython may unwind the latter when the interpreter ends (gil.h).
inline constexpr effects<internal::cannot_throw> nothrow{};

/// The wrapper releases the GIL around the call. Implies thread_safe, because other threads can
/// call the function at the same time. The function must not raise, and must neither take nor
/// return objects. Consumers may call the function with or without the GIL.
inline constexpr effects<internal::without_gil | PyNativeCallable_THREAD_SAFE> releases_gil{};

/// Also offers a function that takes floats as one that takes doubles. For example, `dd->d` is
/// offered in addition to `ff->f`, for consumers that need doubles, such as SciPy. Integers are
/// not widened, because a `long` version of an `int` function would have to report values out of
/// range.
inline constexpr effects<internal::for_double> widened{};

/// Makes a def of a type into a class method. With takes_self, the first parameter is the class.
inline constexpr effects<internal::of_class> class_method{};
/// Makes a def of a type into a static method, which takes neither the instance nor the class.
inline constexpr effects<internal::of_static> static_method{};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_EFFECTS_H_
