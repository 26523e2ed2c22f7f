// The kind of an object for the choice among overloads, from its type alone.
#ifndef TYPEDCALL_CONVERT_KIND_OF_H_
#define TYPEDCALL_CONVERT_KIND_OF_H_

#include "typedcall/base/object_ref.h"
// Python.h, which object_ref.h includes, comes before all standard headers.

#include <cstring>

#include "typedcall/base/namespace.h"
#include "typedcall/overload_choice.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// True for NumPy's bool, which has no `__index__` and is not a subclass of bool. Recognised by its
/// name, so that NumPy is not needed: "numpy.bool_" up to 1.x, "numpy.bool" from 2.0 on.
inline bool is_numpy_bool(const PyTypeObject *type) {
  static constexpr char name[] = "numpy.bool";
  const char *rest = type->tp_name;
  if (std::strncmp(rest, name, sizeof(name) - 1) != 0) return false;
  rest += sizeof(name) - 1;
  return rest[0] == '\0' || (rest[0] == '_' && rest[1] == '\0');
}

#ifdef PYPY_VERSION
// The slots of classes in Python are not reliable on PyPy. Some are never set (nb_index up to
// 7.3.11; number slots in subclasses of bytes), some always are (the lengths; nb_float before
// 2024), and none changes after C code has seen the class. The names are made once: making one
// costs more than the look-up.
inline PyObject *method_of(PyTypeObject *type, PyObject *name) {
  if (name == nullptr) PyErr_Clear();
  return name != nullptr ? _PyType_Lookup(type, name) : nullptr;
}
inline PyObject *float_method(PyTypeObject *type) {
  static PyObject *const name = PyUnicode_FromString("__float__");
  return method_of(type, name);
}
inline PyObject *complex_method(PyTypeObject *type) {
  static PyObject *const name = PyUnicode_FromString("__complex__");
  return method_of(type, name);
}
inline bool has_index(PyTypeObject *type) {
  static PyObject *const name = PyUnicode_FromString("__index__");
  return method_of(type, name) != nullptr;
}
inline bool has_length(PyTypeObject *type) {
  static PyObject *const name = PyUnicode_FromString("__len__");
  return method_of(type, name) != nullptr;
}
/// Returns an object that PyFloat_AsDouble() and PyComplex_AsCComplex() accept: before PyPy 8 they
/// ignore `__index__`. `first` is the method that they try first. Null with an exception set.
inline object_ref number_of(PyObject *object, PyObject *(*first)(PyTypeObject *)) {
  PyTypeObject *type = Py_TYPE(object);
  const bool is_index = PYPY_VERSION_NUM < 0x08000000 && type != &PyComplex_Type &&
                        !PyLong_Check(object) && has_index(type) && first(type) == nullptr &&
                        float_method(type) == nullptr;
  return is_index ? object_ref::steal(PyNumber_Index(object)) : object_ref::borrow(object);
}
#else
inline unaryfunc float_method(const PyTypeObject *type) {
  return type->tp_as_number != nullptr ? type->tp_as_number->nb_float : nullptr;
}
inline bool has_index(const PyTypeObject *type) {
  return type->tp_as_number != nullptr && type->tp_as_number->nb_index != nullptr;
}
inline bool has_length(const PyTypeObject *type) {
  return (type->tp_as_sequence != nullptr && type->tp_as_sequence->sq_length != nullptr) ||
         (type->tp_as_mapping != nullptr && type->tp_as_mapping->mp_length != nullptr);
}
#endif

// Not inline: one serves all wrappers. The object is neither an int nor a float.
TYPEDCALL_OUT_OF_LINE inline PyNativeGiven kind_of_other(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (PyUnicode_Check(object)) {
    return PyUnicode_CheckExact(object) ? PyNativeGiven_STR : PyNativeGiven_STR_SUBCLASS;
  }
  if (PyLong_Check(object)) {
    return PyBool_Check(object) ? PyNativeGiven_BOOL : PyNativeGiven_INT_SUBCLASS;
  }
  // float and complex have nb_absolute; without it no MRO needs to be walked.
  const PyNumberMethods *number = type->tp_as_number;
  if (number != nullptr && number->nb_absolute != nullptr) {
    if (PyComplex_CheckExact(object)) return PyNativeGiven_COMPLEX;
    if (PyFloat_Check(object)) return PyNativeGiven_FLOAT_SUBCLASS;
    if (PyComplex_Check(object)) return PyNativeGiven_COMPLEX_SUBCLASS;
  }
  const bool is_integer = has_index(type);
  if (!is_integer && float_method(type) == nullptr) return PyNativeGiven_OTHER;
  if (is_numpy_bool(type)) return PyNativeGiven_BOOL;
  if (!is_integer) return PyNativeGiven_HAS_FLOAT;
  return has_length(type) ? PyNativeGiven_ARRAY : PyNativeGiven_INT;
}

/// Returns the kind of `object`; OTHER even if it has `__complex__` alone, for which types have no
/// slot: conversion_rank_of() looks that up for a complex parameter. GIL: held. Sets no exception,
/// and runs no Python code.
TYPEDCALL_IN_LINE inline PyNativeGiven kind_of(PyObject *object) {
  if (PyLong_CheckExact(object)) return PyNativeGiven_INT;
  if (PyFloat_CheckExact(object)) return PyNativeGiven_FLOAT;
  return kind_of_other(object);
}

/// Returns 0 or 1 if `object`, for which PyNumber_Index() has failed, is NumPy's bool, which
/// converts to an integer as Python's bool does; else -1, and the exception stays. GIL: held.
TYPEDCALL_RARE inline int truth_without_index(PyObject *object) {
  if (!is_numpy_bool(Py_TYPE(object))) return -1;
  PyErr_Clear();
  return PyObject_IsTrue(object);
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_KIND_OF_H_
