// The kind of an object for the choice among overloads, by its type alone.
#ifndef TYPEDCALL_CONVERT_KIND_OF_H_
#define TYPEDCALL_CONVERT_KIND_OF_H_

#include "typedcall/object_ref.h"
// Python.h, which object_ref.h includes, comes before all standard headers.

#include <cstring>

#include "typedcall/namespace.h"
#include "typedcall/overload_choice.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// True for NumPy's bool, which has no `__index__` and is no subclass of bool. Known by its name,
/// since nothing here needs NumPy: "numpy.bool_" up to 1.x, "numpy.bool" from 2.0 on.
inline bool is_numpy_bool(const PyTypeObject *type) {
  static constexpr char name[] = "numpy.bool";
  const char *rest = type->tp_name;
  if (std::strncmp(rest, name, sizeof(name) - 1) != 0) return false;
  rest += sizeof(name) - 1;
  return rest[0] == '\0' || (rest[0] == '_' && rest[1] == '\0');
}

// Not in line: one serves all wrappers, for what is neither an int nor a float.
TYPEDCALL_OUT_OF_LINE inline PyNativeGiven kind_of_other(PyObject *object) {
  const PyTypeObject *type = Py_TYPE(object);
  if (PyUnicode_Check(object)) {
    return PyUnicode_CheckExact(object) ? PyNativeGiven_STR : PyNativeGiven_STR_SUBCLASS;
  }
  if (PyLong_Check(object)) {
    return PyBool_Check(object) ? PyNativeGiven_BOOL : PyNativeGiven_INT_SUBCLASS;
  }
  // Subclasses of float and complex have an absolute value: for most other objects no MRO is
  // walked.
  const PyNumberMethods *number = type->tp_as_number;
  const bool has_index = number != nullptr && number->nb_index != nullptr;
  const bool has_float = number != nullptr && number->nb_float != nullptr;
  if (!has_index && !has_float && (number == nullptr || number->nb_absolute == nullptr)) {
    return PyNativeGiven_OTHER;
  }
  if (PyComplex_CheckExact(object)) return PyNativeGiven_COMPLEX;
  if (PyFloat_Check(object)) return PyNativeGiven_FLOAT_SUBCLASS;
  if (PyComplex_Check(object)) return PyNativeGiven_COMPLEX_SUBCLASS;
  if (is_numpy_bool(type)) return PyNativeGiven_BOOL;
  if (!has_index) return has_float ? PyNativeGiven_HAS_FLOAT : PyNativeGiven_OTHER;
  const bool has_length =
      (type->tp_as_sequence != nullptr && type->tp_as_sequence->sq_length != nullptr) ||
      (type->tp_as_mapping != nullptr && type->tp_as_mapping->mp_length != nullptr);
  return has_length ? PyNativeGiven_ARRAY : PyNativeGiven_INT;
}

/// The kind of `object`; OTHER also for what has `__complex__` alone, which has no place in a type.
/// GIL: held. Sets no exception, and runs no Python code.
TYPEDCALL_IN_LINE inline PyNativeGiven kind_of(PyObject *object) {
  if (PyLong_CheckExact(object)) return PyNativeGiven_INT;
  if (PyFloat_CheckExact(object)) return PyNativeGiven_FLOAT;
  return kind_of_other(object);
}

/// As PyNumber_Index(), and for NumPy's bool 0 or 1: it is to be what Python's is. Null with an
/// exception. GIL: held.
inline object_ref integer_of(PyObject *object) {
  object_ref integer = object_ref::steal(PyNumber_Index(object));
  if (TYPEDCALL_EXPECT(!integer && is_numpy_bool(Py_TYPE(object)), 0)) {
    PyErr_Clear();
    const int truth = PyObject_IsTrue(object);
    if (truth >= 0) integer = object_ref::steal(PyLong_FromLong(truth));
  }
  return integer;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_KIND_OF_H_
