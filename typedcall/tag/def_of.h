// Which PyMethodDef is behind a Python callable: of builtin functions, bound or not, and of
// methods as their types have them.
#ifndef TYPEDCALL_TAG_DEF_OF_H_
#define TYPEDCALL_TAG_DEF_OF_H_

#include "core/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

// Exactly these types, here and below: PyPy's look-alikes have no def where CPython's have one.

/// Is it a function, or a bound method, made from a PyMethodDef? A function of the second type,
/// which METH_METHOD makes, knows its defining class as well. GIL: held.
static inline int PyTypedMethod_IsFunction(PyObject *callable) {
  return Py_TYPE(callable) == &PyCFunction_Type || Py_TYPE(callable) == &PyCMethod_Type;
}

/// Is it `Type.method` of a type that has it from a PyMethodDef, or its class method as the type's
/// dictionary has it? GIL: held.
static inline int PyTypedMethod_IsUnbound(PyObject *callable) {
  return Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyClassMethodDescr_Type;
}

/// The def of a builtin function, bound or not, or of a method or class method as its type has it
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
