// What is known of one C++ function at compile time: its type, its signature, its entry in a table,
// and a version of it that throws nothing.
#ifndef TYPEDCALL_NATIVE_H_
#define TYPEDCALL_NATIVE_H_

#include <cxxabi.h>

#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "typedcall/convert.h"
#include "typedcall/effects.h"
#include "typedcall/error_value.h"
#include "typedcall/signature_of.h"

namespace typedcall::internal {

/// Turns the C++ exception being handled into a Python exception. GIL: held.
inline void set_error_from_exception() {
  // A function that has set one and throws to get out means that one.
  if (PyErr_Occurred()) return;
  PyObject *type = PyExc_RuntimeError;
  try {
    throw;
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
    return;
  } catch (const std::out_of_range &error) {
    PyErr_SetString(PyExc_IndexError, error.what());
    return;
  } catch (const std::overflow_error &error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
    return;
  } catch (const std::logic_error &error) {
    // invalid_argument, domain_error and length_error: the caller's values are wrong.
    PyErr_SetString(PyExc_ValueError, error.what());
    return;
  } catch (const std::exception &error) {
    PyErr_SetString(type, error.what());
    return;
  } catch (...) {
    PyErr_SetString(type, "unknown C++ exception");
  }
}

template <class Pointer>
struct function_traits {
  static_assert(!std::is_same_v<Pointer, Pointer>,
                "typedcall: a method is made from a pointer to a function; for overloaded names "
                "cast to the one you mean, for lambdas write a plus sign in front");
};

template <class R, class... A>
struct function_traits<R (*)(A...)> {
  using type = R(A...);
  using result = R;
  using arguments = std::tuple<std::remove_cv_t<A>...>;
  static constexpr bool is_noexcept = false;
  static constexpr std::size_t arity = sizeof...(A);
  static constexpr bool has_objects =
      std::is_same_v<R, PyObject *> || (std::is_same_v<std::remove_cv_t<A>, PyObject *> || ...);
  static constexpr bool converts = (std::is_void_v<R> || is_convertible_type<R>)&&(
      is_convertible_type<std::remove_cv_t<A>> && ...);
};

template <class R, class... A>
struct function_traits<R (*)(A...) noexcept> : function_traits<R (*)(A...)> {
  static constexpr bool is_noexcept = true;
};

/// `Function` as it is offered: with the effects that were stated and those that its type shows.
///
/// Hidden, and with it every template over it: two extension modules may each have an `inc(long)`,
/// and the dynamic linker makes one of all visible static variables of templates, whichever module
/// they come from. The table of the second module would hold the functions of the first.
template <auto Function, std::uint64_t Stated>
struct __attribute__((visibility("hidden"))) native {
  using traits = function_traits<decltype(Function)>;
  using result = typename traits::result;
  using arguments = typename traits::arguments;
  static constexpr std::size_t arity = traits::arity;

  /// A function that may throw is offered through a caller that turns exceptions into Python's, for
  /// consumers need not be C++ and may have no frame to unwind.
  static constexpr bool throws = !traits::is_noexcept && (Stated & cannot_throw) == 0;
  static constexpr bool returns_object = std::is_same_v<result, PyObject *>;

  static constexpr std::uintptr_t flags =
      static_cast<std::uintptr_t>(Stated & ~cannot_throw) |
      (throws || returns_object ? PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD : 0) |
      (traits::has_objects ? PyNativeCallable_NEEDS_THREAD : 0);
  static constexpr bool may_raise = (flags & PyNativeCallable_MAY_RAISE) != 0;

  static_assert(!may_raise || has_error_value<result>,
                "typedcall: a function whose result is bool, void or complex cannot say by it that "
                "an exception is set. Make it noexcept (or state typedcall::nothrow for a C "
                "function), or return an integer");
  static_assert(
      traits::converts,
      "typedcall: Python callers can pass and get bool, the signed and unsigned integers, "
      "float, double and PyObject *; this function has another type");

  template <class Arguments>
  struct guarded;
  template <class... A>
  struct guarded<std::tuple<A...>> {
    // There is no object behind a __forced_unwind, only an address that is null.
    __attribute__((no_sanitize("null"))) static result call(A... arguments) {
      try {
        return Function(arguments...);
#ifdef __GLIBCXX__
      } catch (abi::__forced_unwind &) {
        // pthread_exit, with which CPython before 3.14 ends the threads that ask for the GIL after
        // the interpreter's end. It must go on, so this function is not noexcept either.
        throw;
#endif
      } catch (...) {
        set_error_from_exception();
        return error_value<result>();
      }
    }
  };

  /// What consumers call, and what the wrapper calls.
  static constexpr auto address() {
    if constexpr (throws) {
      return &guarded<arguments>::call;
    } else {
      return Function;
    }
  }

  static PyNativeCallableEntry entry() {
    return {signature_of<typename traits::type>::text, flags, reinterpret_cast<void *>(address())};
  }
};

}  // namespace typedcall::internal

#endif  // TYPEDCALL_NATIVE_H_
