// Facts about a function beyond its type, as compile-time tags that can be joined: typedcall::pure
// | typedcall::thread_safe.
#ifndef TYPEDCALL_PROVIDER_EFFECTS_H_
#define TYPEDCALL_PROVIDER_EFFECTS_H_

#include <cstdint>

#include "typedcall/namespace.h"
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
// Above the 32 bits that an entry's flags have: for the compiler and the def, not for consumers.
inline constexpr std::uint64_t entry_bits = 0xffffffff;
inline constexpr std::uint64_t cannot_throw = std::uint64_t{1} << 32;
inline constexpr std::uint64_t of_class = std::uint64_t{1} << 33;
inline constexpr std::uint64_t of_static = std::uint64_t{1} << 34;
inline constexpr std::uint64_t without_gil = std::uint64_t{1} << 35;
inline constexpr std::uint64_t for_double = std::uint64_t{1} << 36;
}  // namespace internal

/// Sets a Python exception and then returns the error value of its class (error_value.h).
inline constexpr effects<PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD> may_raise{};
/// Returns an int: 0, or anything else with a Python exception set. What Python gets is written
/// through the last parameter if that is a pointer to a value (`int f(double x, bool *result)`),
/// and is None otherwise.
inline constexpr effects<PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD>
    returns_status{};
/// Has no result for some arguments, and Python's callable is to be called with them. It is one of:
/// - a function that throws: then it falls back (and the Python function raises what it threw);
/// - `int f(double x, double *result)`: 0 when the value is there, anything else to fall back;
/// - a function that returns `std::optional`, which says this by itself, and is noexcept or states
///   this to fall back by what it throws as well.
/// Before it falls back it has had no effect, and it uses nothing of Python (unless it states
/// needs_gil too): consumers call it without the GIL. See otherwise<> for what Python gets.
inline constexpr effects<PyNativeCallable_FALLS_BACK> falls_back{};
/// Takes self first, as `PyObject *` or as a pointer to the object's own struct: the instance for a
/// method of a type, the class for a class method, the module for a function of a module.
inline constexpr effects<PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD> takes_self{};
/// Uses the Python C API, so it is only called with the GIL held. Implied by objects in the type.
inline constexpr effects<PyNativeCallable_NEEDS_THREAD> needs_gil{};
/// May run in several threads at once.
inline constexpr effects<PyNativeCallable_THREAD_SAFE> thread_safe{};
/// Same arguments, same result, nothing else happens.
inline constexpr effects<PyNativeCallable_PURE> pure{};
/// Does not block.
inline constexpr effects<PyNativeCallable_SHORT> does_not_block{};
/// Throws no C++ exception although its type does not say noexcept: a C function, or one that runs
/// Python code, through which CPython may unwind the thread when the interpreter ends (gil.h).
inline constexpr effects<internal::cannot_throw> nothrow{};

/// Worth letting other threads run meanwhile: the wrapper releases the GIL around the call. Then
/// other threads can call it too, so this says thread_safe as well. Not for functions that take or
/// give objects or may raise. Consumers hold the GIL or not, as they like.
inline constexpr effects<internal::without_gil | PyNativeCallable_THREAD_SAFE> releases_gil{};

/// A function of float is also offered for double, with the very results that Python's callers get:
/// `dd->d` beside `ff->f`, for consumers that want a bare pointer (SciPy, a ufunc whose results are
/// not to be float32). Not for integers: what `long` beside `int` is, has to say what is out of
/// range, and so would be no bare function; consumers check that themselves (narrowing.h).
inline constexpr effects<internal::for_double> widened{};

/// A def of a type for the class itself: `Type.f(...)`, with takes_self the class comes first.
inline constexpr effects<internal::of_class> class_method{};
/// A def of a type that knows neither instance nor class.
inline constexpr effects<internal::of_static> static_method{};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_EFFECTS_H_
