// typedcall::narrowing<int(int, int)>(interface, callable): a function object that takes wider
// arguments than the native function, long for int and double for float, and checks their range.
#ifndef TYPEDCALL_NARROWING_H_
#define TYPEDCALL_NARROWING_H_

#include "typedcall/fallback.h"
// fallback.h comes first, because of Python.h.
#include <type_traits>
#include <utility>

#include "typedcall/convert/int_range.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <class T>
constexpr bool is_int_or_bool = is_integer_type<T> || std::is_same_v<T, bool>;

/// True if a Given may be passed for the native function's Own. The rules are the wrapper's: a
/// float is not accepted for an int, nor an int for a bool, nor a long double, which no Python
/// float holds.
template <class Given, class Own>
constexpr bool is_taken_for() {
  if constexpr (std::is_same_v<Given, Own>) {
    return true;
  } else if constexpr (is_integer_type<Own>) {
    return is_int_or_bool<Given>;
  } else if constexpr (std::is_floating_point_v<Own>) {
    return is_int_or_bool<Given> ||
           (std::is_floating_point_v<Given> && sizeof(Given) <= sizeof(double));
  } else {
    return false;
  }
}

/// The type that Python gets: ints and floats have any width.
template <class Given>
constexpr auto widened(Given value) {
  if constexpr (is_integer_type<Given>) {
    using wide = std::conditional_t<std::is_signed_v<Given>, long long, unsigned long long>;
    return static_cast<wide>(value);
  } else if constexpr (std::is_floating_point_v<Given> && sizeof(Given) < sizeof(double)) {
    return static_cast<double>(value);
  } else {
    return value;
  }
}

}  // namespace internal

template <class Signature>
class narrowing_function;

/// Empty, or a native function R(A...) that is called with any ints for its ints, and any ints,
/// floats and doubles for its floats and doubles. Made by narrowing().
///
/// A call checks that each int is in range (one comparison; none if its type always is) and rounds
/// doubles to floats as the Python callable does. If an int is out of range, it takes the GIL,
/// calls the Python callable with the same values and releases the GIL: the callable raises its own
/// OverflowError, or returns a result. For failures, exceptions, threads without the GIL, copying
/// and destroying see fallback_function.
template <class R, class... A>
class narrowing_function<R(A...)> {
 public:
  narrowing_function() = default;
  explicit narrowing_function(fallback_function<R(A...)> native) : native_(std::move(native)) {}

  explicit operator bool() const { return static_cast<bool>(native_); }
  /// The native function, which takes exactly its own types. It keeps alive everything that this
  /// object needs.
  const fallback_function<R(A...)> &native() const { return native_; }

  /// Undefined if empty.
  template <class... Given>
  R operator()(Given... args) const {
    static_assert(sizeof...(Given) == sizeof...(A), "typedcall: the number of arguments differs");
    static_assert((internal::is_taken_for<Given, A>() && ...),
                  "typedcall: an int is taken for an int or a float, and a float or double for a "
                  "float or double. Everything else is passed as the very type");
    if (TYPEDCALL_EXPECT((internal::has_room<A>(args) && ...), 1)) {
      return native_(internal::narrowed<A>(args)...);
    }
    return internal::call_boxed_from_anywhere<R>(native_.callee(), internal::widened(args)...);
  }

  /// True if an exception is set; for use after a call. GIL: held.
  bool raised() const { return PyErr_Occurred() != nullptr; }
  /// The same, but queries CPython only if `result` is the error value. GIL: held.
  template <class Result>
  bool raised(Result result) const {
    static_assert(std::is_same_v<Result, R>, "typedcall: pass what the call returned");
    if constexpr (has_error_value<R>) {
      if (!is_error_value(result)) return false;
    }
    return raised();
  }

 private:
  fallback_function<R(A...)> native_;
};

/// narrowing<int(int, int)>(interface, callable): wraps an entry `ii->i` that requires only `can`,
/// or one that falls back, and can be called with longs, for example. Empty with the exception of
/// resolve() if there is neither. GIL: held.
template <class Signature>
narrowing_function<Signature> narrowing(const PyTypedcall_Interface *interface, PyObject *callable,
                                        capabilities can = 0) {
  using made = narrowing_function<Signature>;
  return made(resolve<Signature>(interface, callable, with_fallback(), can));
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_NARROWING_H_
