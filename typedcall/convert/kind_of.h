// Determines the kind of an object from its type, to choose among overloads.
#ifndef TYPEDCALL_CONVERT_KIND_OF_H_
#define TYPEDCALL_CONVERT_KIND_OF_H_

#include "typedcall/base/object_ref.h"
// Python.h, which object_ref.h includes, must come before all standard headers.

#include <cstring>

#include "typedcall/base/namespace.h"
#include "typedcall/overload_choice.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// True for NumPy's bool, which has no `__index__` and is not a subclass of bool. The name is
/// "numpy.bool_" before NumPy 2 and "numpy.bool" from NumPy 2 on.
inline bool is_numpy_bool(const PyTypeObject *type) {
  static constexpr char name[] = "numpy.bool";
  const char *rest = type->tp_name;
  if (std::strncmp(rest, name, sizeof(name) - 1) != 0) return false;
  rest += sizeof(name) - 1;
  return rest[0] == '\0' || (rest[0] == '_' && rest[1] == '\0');
}

#ifdef PYPY_VERSION
// On PyPy, the slots of classes written in Python are not reliable. Some slots are never set, some
// are always set, and no slot changes after C code has seen the class. Each name is made only once,
// because making a name costs more than the look-up.
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
/// Returns an object that PyFloat_AsDouble() and PyComplex_AsCComplex() accept. Before PyPy 8, both
/// functions ignore `__index__`. `first` looks up the method that the function tries first. On
/// failure, returns null with an exception set.
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

/// Returns the type or the base type that has this name, or null.
inline const PyTypeObject *type_named(const PyTypeObject *type, const char *name) {
  while (type != nullptr && std::strcmp(type->tp_name, name) != 0) type = type->tp_base;
  return type;
}

/// True for NumPy's complex scalars and their subclasses, which have `__float__`, too. It drops the
/// imaginary part, with a warning.
inline bool is_numpy_complex(const PyTypeObject *type) {
  return type_named(type, "numpy.complexfloating") != nullptr;
}

/// True for an array of NumPy, or of a subclass, with complex elements. Sets no exception, and
/// calls NumPy's own functions only, not `__buffer__` of a subclass. Not inline, because its buffer
/// would be in the frame of every call that ranks an object.
TYPEDCALL_RARE inline bool is_complex_array(PyObject *object) {
  const PyTypeObject *type = type_named(Py_TYPE(object), "numpy.ndarray");
  const PyBufferProcs *buffer = type != nullptr ? type->tp_as_buffer : nullptr;
  if (buffer == nullptr || buffer->bf_getbuffer == nullptr) return false;
  Py_buffer view;
  if (buffer->bf_getbuffer(object, &view, PyBUF_RECORDS_RO) < 0) {
    PyErr_Clear();
    return false;
  }
  // The format of a struct may contain a complex number.
  const char *const format = view.format;
  const bool is_complex = format != nullptr && std::strchr(format, '{') == nullptr &&
                          std::strchr(format, 'Z') != nullptr;
  // Like PyBuffer_Release(), which would call `__release_buffer__` of a subclass.
  if (buffer->bf_releasebuffer != nullptr) buffer->bf_releasebuffer(object, &view);
  Py_XDECREF(view.obj);
  return is_complex;
}

// Implements kind_of() for objects whose type is neither int nor float. Not inline, so that all
// wrappers share it.
TYPEDCALL_OUT_OF_LINE inline PyNativeArgumentKind kind_of_other(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (PyUnicode_Check(object)) {
    return PyUnicode_CheckExact(object) ? PyNativeArgumentKind_STR
                                        : PyNativeArgumentKind_STR_SUBCLASS;
  }
  if (PyLong_Check(object)) {
    return PyBool_Check(object) ? PyNativeArgumentKind_BOOL : PyNativeArgumentKind_INT_SUBCLASS;
  }
  // Float and complex have nb_absolute, so the MRO of a type without it need not be searched.
  const PyNumberMethods *number = type->tp_as_number;
  if (number != nullptr && number->nb_absolute != nullptr) {
    if (PyComplex_CheckExact(object)) return PyNativeArgumentKind_COMPLEX;
    if (PyFloat_Check(object)) return PyNativeArgumentKind_FLOAT_SUBCLASS;
    if (PyComplex_Check(object)) return PyNativeArgumentKind_COMPLEX_SUBCLASS;
  }
  const bool is_integer = has_index(type);
  if (!is_integer && float_method(type) == nullptr) return PyNativeArgumentKind_OTHER;
  if (is_numpy_bool(type)) return PyNativeArgumentKind_BOOL;
  if (!is_integer) {
    return is_numpy_complex(type) ? PyNativeArgumentKind_HAS_COMPLEX
                                  : PyNativeArgumentKind_HAS_FLOAT;
  }
  if (!has_length(type)) return PyNativeArgumentKind_INT;
  return is_complex_array(object) ? PyNativeArgumentKind_HAS_COMPLEX : PyNativeArgumentKind_ARRAY;
}

/// Returns the kind of `object`. The kind is OTHER if the object has only `__complex__`, because
/// types have no slot for `__complex__`. conversion_rank_of() looks it up. GIL: held. Sets no
/// exception, and runs no Python code. NumPy's complex numbers are HAS_COMPLEX.
TYPEDCALL_IN_LINE inline PyNativeArgumentKind kind_of(PyObject *object) {
  if (PyLong_CheckExact(object)) return PyNativeArgumentKind_INT;
  if (PyFloat_CheckExact(object)) return PyNativeArgumentKind_FLOAT;
  return kind_of_other(object);
}

/// Call this after PyNumber_Index() has failed for `object`. Returns 0 or 1 if the object is
/// NumPy's bool, which is accepted as an integer. Otherwise, returns -1 and the exception stays
/// set. GIL: held.
TYPEDCALL_RARE inline int truth_without_index(PyObject *object) {
  if (!is_numpy_bool(Py_TYPE(object))) return -1;
  PyErr_Clear();
  return PyObject_IsTrue(object);
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_KIND_OF_H_
