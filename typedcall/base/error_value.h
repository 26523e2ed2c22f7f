// Error values. A native function returns its error value to report that an exception is set.
// Source: docs/ABI.md, section 3, MAY_RAISE.
#ifndef TYPEDCALL_BASE_ERROR_VALUE_H_
#define TYPEDCALL_BASE_ERROR_VALUE_H_

#include <Python.h>

#include <cmath>
#include <type_traits>

#include "typedcall/base/signature_of.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The result of PyNativeKind_HasErrorValue() for a C++ type.
template <class T>
constexpr bool has_error_value =
    std::is_pointer_v<T> ||
    PyNativeKind_HasErrorValue(PyNativeCode_Kind(internal::code_of<T>())) != 0;

/// Returns -1 for signed integers, all ones for unsigned integers, -1.0 for floating types, and
/// null for pointers and objects.
template <class T>
constexpr T error_value() {
  static_assert(has_error_value<T>);
  if constexpr (std::is_pointer_v<T>) {
    return nullptr;
  } else {
    return static_cast<T>(-1);
  }
}

/// True if `result` is the error value. The caller must then check PyErr_Occurred().
template <class T>
bool is_error_value(T result) {
#if TYPEDCALL_IS_SUPPORTED
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wfloat-equal"
#endif
  return result == error_value<T>();
#if TYPEDCALL_IS_SUPPORTED
#pragma GCC diagnostic pop
#endif
}

namespace internal {

/// True for -0.0, the error value of floating types in PyPy's layout (ERROR_IS_NEG_ZERO).
template <class Real>
bool is_negative_zero(Real result) {
  return result <= 0 && result >= 0 && std::signbit(result);
}

/// Sets SystemError if a native function failed without setting an exception. Source: CPython's
/// "returned NULL without setting an exception". GIL: held.
TYPEDCALL_RARE inline void set_missing_error() {
  if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_SystemError,
                    "typedcall: a native function failed without setting an exception");
  }
}

#ifndef PYPY_VERSION  // from Python 3.11 on, PyPy's headers do not declare PyErr_SetInterrupt()
/// Clears the pending exception. If it was a KeyboardInterrupt, returns true, and Python will raise
/// KeyboardInterrupt again. GIL: held.
TYPEDCALL_RARE inline bool clear_exception() {
  const bool is_interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
  PyErr_Clear();
  if (is_interrupt) PyErr_SetInterrupt();
  return is_interrupt;
}
#endif

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_ERROR_VALUE_H_
