// Finds the PyMethodDef of a builtin function or method.
#ifndef TYPEDCALL_TAG_DEF_OF_H_
#define TYPEDCALL_TAG_DEF_OF_H_

#include "core/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

// The types must be exact, because similar types in PyPy have no def at this offset.

/// True for a function or bound method made from a PyMethodDef. METH_METHOD functions have the
/// second type. GIL: held.
static inline int PyTypedMethod_IsFunction(PyObject *callable) {
  return Py_TYPE(callable) == &PyCFunction_Type || Py_TYPE(callable) == &PyCMethod_Type;
}

/// True for a `Type.method` made from a PyMethodDef, or a class method in a type's dictionary. GIL:
/// held.
static inline int PyTypedMethod_IsUnbound(PyObject *callable) {
  return Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyClassMethodDescr_Type;
}

/// Returns the def of a builtin function, a bound method or an unbound method. The pointer is
/// borrowed. Returns NULL without an exception for any other object. GIL: held.
static inline PyMethodDef *PyTypedMethod_DefOf(PyObject *callable) {
  if (PyTypedMethod_IsFunction(callable)) return ((PyCFunctionObject *)callable)->m_ml;
  if (PyTypedMethod_IsUnbound(callable)) return ((PyMethodDescrObject *)callable)->d_method;
  return NULL;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_DEF_OF_H_
