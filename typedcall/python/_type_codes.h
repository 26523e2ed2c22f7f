// The list of type codes as a tuple for typedcall/python/_codes.py: both extension modules of the
// package export it, so that the letters have one owner.
#ifndef TYPEDCALL_PYTHON_TYPE_CODES_H_
#define TYPEDCALL_PYTHON_TYPE_CODES_H_

#include <Python.h>

#include "typedcall/signature.h"

static inline const char *PyNativeType_Internal_KindName(enum PyNativeKind kind) {
  switch (kind) {
    case PyNativeKind_VOID:
      return "void";
    case PyNativeKind_BOOL:
      return "bool";
    case PyNativeKind_SIGNED:
      return "signed";
    case PyNativeKind_UNSIGNED:
      return "unsigned";
    case PyNativeKind_FLOATING:
      return "floating";
    case PyNativeKind_COMPLEX:
      return "complex";
    case PyNativeKind_POINTER:
      return "pointer";
    case PyNativeKind_STRING:
      return "string";
    case PyNativeKind_OBJECT:
      return "object";
  }
  return "";
}

// (letters, C type, kind, size, alignment) of every type code. A new reference, or NULL.
static inline PyObject *PyNativeType_Codes(void) {
  static const char *const c_types[] = {
#define ROW(NAME, LETTERS, TYPE, KIND) #TYPE,
      PyNativeType_LIST(ROW)
#undef ROW
  };
  PyObject *codes = PyTuple_New(PyNativeType_COUNT);
  for (int code = 0; codes != NULL && code < PyNativeType_COUNT; ++code) {
    PyObject *row = Py_BuildValue("sssnn", PyNativeCode_Letters(code), c_types[code],
                                  PyNativeType_Internal_KindName(PyNativeCode_Kind(code)),
                                  (Py_ssize_t)PyNativeCode_Size(code),
                                  (Py_ssize_t)PyNativeCode_Alignment(code));
    if (row == NULL || PyTuple_SetItem(codes, code, row) < 0) Py_CLEAR(codes);
  }
  return codes;
}

#endif  // TYPEDCALL_PYTHON_TYPE_CODES_H_
