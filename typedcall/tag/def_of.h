// Finds the PyMethodDef behind a Python callable: builtin functions, bound or not, and unbound
// methods of types.
#ifndef TYPEDCALL_TAG_DEF_OF_H_
#define TYPEDCALL_TAG_DEF_OF_H_

#include "core/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

// Only these exact types, here and below: PyPy's similar types have no def where CPython's do.

/// True for a function or bound method made from a PyMethodDef. The second type, made for
/// METH_METHOD, also knows its defining class. GIL: held.
static inline int PyTypedMethod_IsFunction(PyObject *callable) {
  return Py_TYPE(callable) == &PyCFunction_Type || Py_TYPE(callable) == &PyCMethod_Type;
}

/// True for a `Type.method` made from a PyMethodDef, or a class method as found in the type's
/// dictionary. GIL: held.
static inline int PyTypedMethod_IsUnbound(PyObject *callable) {
  return Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyClassMethodDescr_Type;
}

/// Returns the def of a builtin function, bound or not, or of an unbound method or class method
/// (`list.append`, `dict.__dict__['fromkeys']`), borrowed; NULL without an exception for anything
/// else. GIL: held.
static inline PyMethodDef *PyTypedMethod_DefOf(PyObject *callable) {
  if (PyTypedMethod_IsFunction(callable)) return ((PyCFunctionObject *)callable)->m_ml;
  if (PyTypedMethod_IsUnbound(callable)) return ((PyMethodDescrObject *)callable)->d_method;
  return NULL;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_DEF_OF_H_
