// Converts between Python objects and C values, in generated wrappers and boxed calls. The rules
// are those of CPython: floats do not convert to int, and ints never wrap around.
#ifndef TYPEDCALL_CONVERT_CONVERT_H_
#define TYPEDCALL_CONVERT_CONVERT_H_

#include "typedcall/base/object_ref.h"
// In Python 3.9 and 3.10, Python.h does not define the struct of ints.
#if PY_VERSION_HEX < 0x030B0000 && !defined(PYPY_VERSION)
#include <longintrepr.h>
#endif

#include <limits>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/convert/int_range.h"
#include "typedcall/convert/kind_of.h"
#include "typedcall/convert/pointer.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// True for C's complex types, but not for std::complex (see c_type.h).
template <class T>
constexpr bool is_complex_type =
    internal::has_code<T> &&PyNativeCode_Kind(internal::code_of<T>()) == PyNativeKind_COMPLEX;

/// True for the types that from_python() converts. The function to_python() also converts strings
/// and pointers.
template <class T>
constexpr bool is_convertible_type = internal::has_code<T> &&
                                     (!std::is_pointer_v<T> ||
                                      std::is_same_v<T, PyObject *>)&&!std::is_void_v<T>;

namespace internal {

inline bool is_minus_one(double value) { return value >= -1.0 && value <= -1.0; }

/// Gets the value of an int of one digit (below 2**30) without a call. Returns false for longer
/// ints. Always returns false on PyPy, where the digits are not accessible.
#ifdef PYPY_VERSION
inline bool short_int(PyObject *, long *) { return false; }
#else
TYPEDCALL_IN_LINE inline bool short_int(PyObject *integer, long *value) {
  const auto *digits = reinterpret_cast<const PyLongObject *>(integer);
#if PY_VERSION_HEX >= 0x030C0000
  if (!PyUnstable_Long_IsCompact(digits)) return false;
  *value = static_cast<long>(PyUnstable_Long_CompactValue(digits));
#elif PY_VERSION_HEX >= 0x030B0000
  // Even 0 has a digit. Source: CPython 3.11, _PyLong_New.
  const Py_ssize_t size = Py_SIZE(digits);
  if (static_cast<std::size_t>(size) + 1 > 2) return false;
  *value = static_cast<long>(size) * static_cast<long>(digits->ob_digit[0]);
#else
  const Py_ssize_t size = Py_SIZE(digits);
  if (size != 1 && size != -1) {
    *value = 0;
    return size == 0;
  }
  *value = static_cast<long>(size) * static_cast<long>(digits->ob_digit[0]);
#endif
  return true;
}
#endif  // PYPY_VERSION

/// A converted value. If `is_valid` is false, an exception is set. Returned in registers, whereas
/// an out parameter would force the value into memory.
template <class T>
struct converted {
  T value;
  bool is_valid;
};

// These functions are not inline, so that all wrappers share them.
TYPEDCALL_HIDDEN converted<long long> signed_from_object(PyObject *object, std::size_t bytes);
TYPEDCALL_HIDDEN converted<unsigned long long> unsigned_from_object(PyObject *object,
                                                                    std::size_t bytes);
// Takes an address because a returned double would occupy the register of the call's first floating
// argument.
TYPEDCALL_HIDDEN bool double_from_object(PyObject *object, double *value);

#if !TYPEDCALL_INTERNAL_IS_DECLARED

#ifdef PYPY_VERSION
inline bool middling_int(PyObject *, long long *) { return false; }
#else
/// Gets the value of an int of up to two digits (below 2**60). Returns false for longer ints.
inline bool middling_int(PyObject *integer, long long *value) {
  const auto *digits = reinterpret_cast<const PyLongObject *>(integer);
#if PY_VERSION_HEX >= 0x030C0000
  const std::uintptr_t tag = digits->long_value.lv_tag;
  const std::size_t count = tag >> _PyLong_NON_SIZE_BITS;
  const bool is_negative = (tag & _PyLong_SIGN_MASK) == 2;
  const digit *parts = digits->long_value.ob_digit;
#else
  const Py_ssize_t size = Py_SIZE(digits);
  const bool is_negative = size < 0;
  const std::size_t count = static_cast<std::size_t>(is_negative ? -size : size);
  const digit *parts = digits->ob_digit;
#endif
  if (count > 2) return false;
  long long magnitude = count > 0 ? parts[0] : 0;
  if (count > 1) magnitude |= static_cast<long long>(parts[1]) << PyLong_SHIFT;
  *value = is_negative ? -magnitude : magnitude;
  return true;
}
#endif

TYPEDCALL_RARE inline bool set_int_does_not_fit(const char *kind, std::size_t bytes) {
  PyErr_Format(PyExc_OverflowError, "Python int does not fit %s integer of %zu bytes", kind, bytes);
  return false;
}

TYPEDCALL_OUT_OF_LINE TYPEDCALL_INTERNAL_DEFINE converted<long long> signed_from_object(
    PyObject *object, std::size_t bytes) {
  if (!PyLong_Check(object)) {
    const object_ref integer = object_ref::steal(PyNumber_Index(object));
    if (!integer) {
      const int truth = truth_without_index(object);
      return {static_cast<long long>(truth), truth >= 0};
    }
    return signed_from_object(integer.get(), bytes);
  }
  int overflow = 0;
  long long value;
  if (!middling_int(object, &value)) value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0 && is_in_range(value, true, bytes)) return {value, true};
  return {0, set_int_does_not_fit("a signed", bytes)};
}

TYPEDCALL_OUT_OF_LINE TYPEDCALL_INTERNAL_DEFINE converted<unsigned long long> unsigned_from_object(
    PyObject *object, std::size_t bytes) {
  if (!PyLong_Check(object)) {
    const object_ref integer = object_ref::steal(PyNumber_Index(object));
    if (!integer) {
      const int truth = truth_without_index(object);
      return {static_cast<unsigned long long>(truth), truth >= 0};
    }
    return unsigned_from_object(integer.get(), bytes);
  }
  const unsigned long long value = PyLong_AsUnsignedLongLong(object);
  const unsigned long long most = std::numeric_limits<unsigned long long>::max();
  if (value == most && PyErr_Occurred()) {
    PyErr_Clear();
    return {0, set_int_does_not_fit("an unsigned", bytes)};
  }
  if (is_in_range(value, false, bytes)) return {value, true};
  return {0, set_int_does_not_fit("an unsigned", bytes)};
}

TYPEDCALL_OUT_OF_LINE TYPEDCALL_INTERNAL_DEFINE bool double_from_object(PyObject *object,
                                                                        double *value) {
  long long integer;
  // The cast rounds to nearest, with ties to even, like int.__float__.
  if (PyLong_CheckExact(object) && middling_int(object, &integer)) {
    *value = static_cast<double>(integer);
    return true;
  }
#ifdef PYPY_VERSION
  const object_ref number = number_of(object, float_method);
  object = number.get();
  if (object == nullptr) return false;
#endif
  *value = PyFloat_AsDouble(object);
  return !(is_minus_one(*value) && PyErr_Occurred());
}

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

template <class T>
T complex_of(const Py_complex &parts) {
  T made{};
  using part = std::remove_reference_t<decltype(PyNativeType_REAL(made))>;
  PyNativeType_REAL(made) = static_cast<part>(parts.real);
  PyNativeType_IMAG(made) = static_cast<part>(parts.imag);
  return made;
}

/// Converts the usual objects without a call. Returns false with no exception set for other
/// objects.
template <class T>
TYPEDCALL_IN_LINE inline bool from_python_at_once(PyObject *object, T *value) {
  if constexpr (std::is_same_v<T, PyObject *>) {
    *value = object;
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    *value = object == Py_True;
    return object == Py_True || object == Py_False;
  } else if constexpr (internal::is_floating_type<T>) {
    if (!TYPEDCALL_EXPECT(PyFloat_CheckExact(object), 1)) return false;
    *value = static_cast<T>(PyFloat_AS_DOUBLE(object));
    return true;
  } else if constexpr (is_complex_type<T>) {
    if (!TYPEDCALL_EXPECT(PyComplex_CheckExact(object), 1)) return false;
    *value = complex_of<T>(reinterpret_cast<const PyComplexObject *>(object)->cval);
    return true;
  } else {
    using limits = std::numeric_limits<T>;
    constexpr bool holds_short_ints = sizeof(T) >= sizeof(int);
    long small = 0;  // initialised because gcc -Og warns otherwise
    if (!TYPEDCALL_EXPECT(PyLong_CheckExact(object) && short_int(object, &small), 1)) return false;
    *value = static_cast<T>(small);
    if constexpr (!holds_short_ints) {
      return small >= static_cast<long>(limits::min()) && small <= static_cast<long>(limits::max());
    }
    return std::is_signed_v<T> || small >= 0;
  }
}

/// Converts any object by a call.
template <class T>
TYPEDCALL_IN_LINE inline bool from_python_by_call(PyObject *object, T *value) {
  if constexpr (std::is_same_v<T, PyObject *>) {
    *value = object;
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    const int truth = PyObject_IsTrue(object);
    *value = truth == 1;
    return truth >= 0;
  } else if constexpr (internal::is_floating_type<T>) {
    double wide;
    if (!double_from_object(object, &wide)) return false;
    *value = static_cast<T>(wide);
    return true;
  } else if constexpr (is_complex_type<T>) {
#ifdef PYPY_VERSION
    const object_ref number = number_of(object, complex_method);
    object = number.get();
    if (object == nullptr) return false;
#endif
    const Py_complex parts = PyComplex_AsCComplex(object);
    *value = complex_of<T>(parts);
    return !(is_minus_one(parts.real) && PyErr_Occurred());
  } else if constexpr (std::is_signed_v<T>) {
    const converted<long long> wide = signed_from_object(object, sizeof(T));
    *value = static_cast<T>(wide.value);
    return wide.is_valid;
  } else {
    const converted<unsigned long long> wide = unsigned_from_object(object, sizeof(T));
    *value = static_cast<T>(wide.value);
    return wide.is_valid;
  }
}

}  // namespace internal

/// Converts `object`. On failure, returns false with an exception set. Raises TypeError for a wrong
/// type, and OverflowError for an int that does not fit. The object's __index__, __float__,
/// __complex__ or __bool__ may raise other exceptions. A PyObject * is borrowed. GIL: held.
template <class T>
TYPEDCALL_IN_LINE inline bool from_python(PyObject *object, T *value) {
  static_assert(
      is_convertible_type<T>,
      "typedcall: boxed calls support bool, the signed and unsigned integers, the floating "
      "and complex types of C and PyObject *; a Python object cannot be converted to "
      "this type");
  return TYPEDCALL_EXPECT(internal::from_python_at_once(object, value), 1) ||
         internal::from_python_by_call(object, value);
}

/// Returns a new reference, or NULL with MemoryError set. A PyObject * is returned unchanged, even
/// if it is NULL. A string becomes a str; if it is not UTF-8, UnicodeDecodeError is set. A pointer
/// becomes a capsule (see pointer.h). A null string or pointer becomes None. GIL: held.
template <class T>
PyObject *to_python(T value) {
  static_assert(
      is_convertible_type<T> || internal::has_pointer_code<T>,
      "typedcall: boxed calls support bool, the signed and unsigned integers, the floating "
      "and complex types of C, const char *, pointers to these and PyObject *; this type "
      "has no conversion");
  if constexpr (std::is_same_v<T, PyObject *>) {
    return value;
  } else if constexpr (std::is_same_v<T, const char *>) {
    if (value == nullptr) Py_RETURN_NONE;
    return PyUnicode_FromString(value);
  } else if constexpr (std::is_pointer_v<T>) {
    return internal::pointer_to_capsule(value, internal::pointer_name<T>::text);
  } else if constexpr (std::is_same_v<T, bool>) {
    PyObject *truth = value ? Py_True : Py_False;
    Py_INCREF(truth);
    return truth;
  } else if constexpr (internal::is_floating_type<T>) {
    return PyFloat_FromDouble(static_cast<double>(value));
  } else if constexpr (is_complex_type<T>) {
    return PyComplex_FromDoubles(static_cast<double>(PyNativeType_REAL(value)),
                                 static_cast<double>(PyNativeType_IMAG(value)));
  } else if constexpr (std::is_signed_v<T> && sizeof(T) <= sizeof(long)) {
    return PyLong_FromLong(static_cast<long>(value));
  } else if constexpr (std::is_signed_v<T>) {
    return PyLong_FromLongLong(value);
  } else if constexpr (sizeof(T) <= sizeof(unsigned long)) {
    return PyLong_FromUnsignedLong(static_cast<unsigned long>(value));
  } else {
    return PyLong_FromUnsignedLongLong(value);
  }
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_CONVERT_H_
