// Between Python objects and C values: the conversions of the generated wrappers and of boxed
// calls. They are CPython's own: an int or a bool for a float, no float for an int, no int wraps
// round.
#ifndef TYPEDCALL_CONVERT_H_
#define TYPEDCALL_CONVERT_H_

#include <limits>
#include <type_traits>

#include "typedcall/object_ref.h"

namespace typedcall {

/// Types that from_python and to_python know: bool, the integers, float, double and PyObject *.
template <class T>
constexpr bool is_convertible_type =
    (std::is_integral_v<T> && !std::is_same_v<T, char>) || std::is_same_v<T, float> ||
    std::is_same_v<T, double> || std::is_same_v<T, PyObject *>;

namespace internal {

template <class T>
bool integer_from_int(PyObject *integer, T *value) {
  if constexpr (std::is_signed_v<T>) {
    int overflow = 0;
    const long long wide = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (wide == -1 && overflow == 0 && PyErr_Occurred()) return false;
    if (overflow != 0 || wide < std::numeric_limits<T>::min() ||
        wide > std::numeric_limits<T>::max()) {
      PyErr_Format(PyExc_OverflowError, "Python int does not fit a signed integer of %zu bytes",
                   sizeof(T));
      return false;
    }
    *value = static_cast<T>(wide);
  } else {
    const unsigned long long wide = PyLong_AsUnsignedLongLong(integer);
    if (wide == std::numeric_limits<unsigned long long>::max() && PyErr_Occurred()) return false;
    if (wide > std::numeric_limits<T>::max()) {
      PyErr_Format(PyExc_OverflowError, "Python int does not fit an unsigned integer of %zu bytes",
                   sizeof(T));
      return false;
    }
    *value = static_cast<T>(wide);
  }
  return true;
}

}  // namespace internal

/// Converts `object`. False with an exception: TypeError for a wrong type, OverflowError for an int
/// that does not fit, or what the object's own __index__, __float__ or __bool__ raises.
/// An object is passed on borrowed. GIL: held.
template <class T>
bool from_python(PyObject *object, T *value) {
  static_assert(is_convertible_type<T>,
                "typedcall: boxed calls know bool, the signed and unsigned integers, float, double "
                "and PyObject *; this type has no conversion yet");
  if constexpr (std::is_same_v<T, PyObject *>) {
    *value = object;
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    const int truth = PyObject_IsTrue(object);
    *value = truth == 1;
    return truth >= 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    const double wide =
        PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : PyFloat_AsDouble(object);
    *value = static_cast<T>(wide);
    return !(wide == -1.0 && !PyFloat_CheckExact(object) && PyErr_Occurred());
  } else {
    if (PyLong_Check(object)) return internal::integer_from_int(object, value);
    const object_ref integer = object_ref::steal(PyNumber_Index(object));
    return integer && internal::integer_from_int(integer.get(), value);
  }
}

/// A new reference, or NULL with MemoryError. An object result is handed on as it is, NULL
/// included. GIL: held.
template <class T>
PyObject *to_python(T value) {
  static_assert(is_convertible_type<T>,
                "typedcall: boxed calls know bool, the signed and unsigned integers, float, double "
                "and PyObject *; this type has no conversion yet");
  if constexpr (std::is_same_v<T, PyObject *>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return PyBool_FromLong(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return PyFloat_FromDouble(static_cast<double>(value));
  } else if constexpr (std::is_signed_v<T>) {
    return PyLong_FromLongLong(value);
  } else {
    return PyLong_FromUnsignedLongLong(value);
  }
}

/// How well an object suits an overload's parameter, best first.
enum class match {
  exact,     ///< its type is the very one: bool for bool, int, float
  subclass,  ///< an instance of a subclass: a bool for an int
  safe,      ///< a conversion that CPython makes by itself: an int for a float, __index__, anything
             ///< for an object
  none
};

/// GIL: held; runs no Python code and sets no exception.
template <class T>
match match_of(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  const PyNumberMethods *number = type->tp_as_number;
  const bool has_index = number != nullptr && number->nb_index != nullptr;
  if constexpr (std::is_same_v<T, PyObject *>) {
    return match::safe;
  } else if constexpr (std::is_same_v<T, bool>) {
    return PyBool_Check(object) ? match::exact : match::none;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (PyFloat_CheckExact(object)) return match::exact;
    if (PyFloat_Check(object)) return match::subclass;
    return has_index || (number != nullptr && number->nb_float != nullptr) ? match::safe
                                                                           : match::none;
  } else {
    if (PyLong_CheckExact(object)) return match::exact;
    if (PyLong_Check(object)) return match::subclass;
    return has_index ? match::safe : match::none;
  }
}

}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_H_
