// Facts that a function's type does not tell, as compile-time tags that can be joined:
// typedcall::pure | typedcall::thread_safe.
#ifndef TYPEDCALL_PROVIDER_EFFECTS_H_
#define TYPEDCALL_PROVIDER_EFFECTS_H_

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
// An entry's flags are 32 bits; higher bits are for the compiler and the def, not for consumers.
inline constexpr std::uint64_t entry_bits = 0xffffffff;
inline constexpr std::uint64_t cannot_throw = std::uint64_t{1} << 32;
inline constexpr std::uint64_t of_class = std::uint64_t{1} << 33;
inline constexpr std::uint64_t of_static = std::uint64_t{1} << 34;
inline constexpr std::uint64_t without_gil = std::uint64_t{1} << 35;
inline constexpr std::uint64_t for_double = std::uint64_t{1} << 36;
}  // namespace internal

/// Sets a Python exception and then returns the error value of its class (error_value.h).
inline constexpr effects<PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD> may_raise{};
/// Returns an int: 0, or anything else with a Python exception set. Python's result is written
/// through the last parameter if that is a pointer to a value (`int f(double x, bool *result)`),
/// and is None otherwise.
inline constexpr effects<PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD>
    returns_status{};
/// Has no result for some arguments; then the Python callable must be called with them. One of:
/// - a function that throws in order to fall back (the Python function raises that exception);
/// - `int f(double x, double *result)`, which returns 0 with the value stored, anything else to
///   fall back;
/// - a function that returns `std::optional`, which implies this effect. It is noexcept, or states
///   this effect to fall back by throwing as well.
/// A call that falls back must have had no effect, and must not have used Python (unless needs_gil
/// is stated too): consumers call it without the GIL. See otherwise<> for Python's result.
inline constexpr effects<PyNativeCallable_FALLS_BACK> falls_back{};
/// Takes self first, as `PyObject *` or as a pointer to the object's own struct: the instance for a
/// method of a type, the class for a class method, the module for a function of a module.
inline constexpr effects<PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD> takes_self{};
/// Uses the Python C API, so it is called only with the GIL held. Implied by objects in the type.
inline constexpr effects<PyNativeCallable_NEEDS_THREAD> needs_gil{};
/// May run in several threads at once.
inline constexpr effects<PyNativeCallable_THREAD_SAFE> thread_safe{};
/// The same arguments give the same result, and there are no side effects.
inline constexpr effects<PyNativeCallable_PURE> pure{};
/// Does not block.
inline constexpr effects<PyNativeCallable_SHORT> does_not_block{};
/// Throws no C++ exception although its type is not noexcept: a C function, or one that runs Python
/// code, through which CPython may unwind the thread when the interpreter ends (gil.h).
inline constexpr effects<internal::cannot_throw> nothrow{};

/// Runs long enough that the wrapper releases the GIL around the call. Other threads can then call
/// it too, so this implies thread_safe. Not for functions that take or return objects or may raise.
/// Consumers may hold the GIL or not.
inline constexpr effects<internal::without_gil | PyNativeCallable_THREAD_SAFE> releases_gil{};

/// Also offers a function of float for double, with the same results that Python callers get:
/// `dd->d` beside `ff->f`, for consumers that need a bare pointer (SciPy, or a ufunc whose results
/// should not be float32). Not for integers: a `long` version of an `int` function would have to
/// report values out of range, and could not be a bare function; consumers check the range
/// themselves (fallback.h).
inline constexpr effects<internal::for_double> widened{};

/// Makes a type's def a class method, `Type.f(...)`; with takes_self the class comes first.
inline constexpr effects<internal::of_class> class_method{};
/// Makes a type's def a static method, which gets neither instance nor class.
inline constexpr effects<internal::of_static> static_method{};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_EFFECTS_H_
