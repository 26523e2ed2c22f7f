// The list of type codes and the parser of signatures for typedcall/_codes.py: both
// extension modules of the package export them, so that letters and grammar have one owner.
#ifndef TYPEDCALL_PYTHON_SIGNATURES_H_
#define TYPEDCALL_PYTHON_SIGNATURES_H_

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

static inline PyObject *PyNativeType_Internal_Text(PyNativeType type) {
  return PyUnicode_FromFormat("%s%s", type.is_pointer ? "&" : "", PyNativeCode_Letters(type.code));
}

#define PyNativeSignature_PARSE_DOC                                                         \
  "parse_signature($module, signature, /)\n--\n\n"                                          \
  "'dl->d' as (['d', 'l'], 'd'). ValueError, with the position, for what is no signature; " \
  "TypeError for what is no str."

// The function parse_signature() of both modules.
static inline PyObject *PyNativeSignature_ParseForPython(PyObject *module, PyObject *text) {
  (void)module;
  if (!PyUnicode_Check(text)) {
    return PyErr_Format(PyExc_TypeError, "a signature is a str, not '%.100s'",
                        Py_TYPE(text)->tp_name);
  }
  Py_ssize_t length;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
  if (utf8 == NULL) return NULL;
  PyNativeSignature parsed;
  PyNativeSignature_Fault fault;
  if (PyNativeSignature_Parse(utf8, (size_t)length, &parsed, &fault) < 0) {
    // Without what a subclass makes of its repr().
    PyObject *exact = PyUnicode_FromObject(text);
    if (exact == NULL) return NULL;
    PyErr_Format(PyExc_ValueError, "signature %R at position %zd: %s", exact,
                 (Py_ssize_t)fault.position, fault.reason);
    Py_DECREF(exact);
    return NULL;
  }
  PyObject *arguments = PyList_New(parsed.nargs);
  for (int i = 0; arguments != NULL && i < parsed.nargs; ++i) {
    PyObject *letters = PyNativeType_Internal_Text(parsed.args[i]);
    if (letters == NULL || PyList_SetItem(arguments, i, letters) < 0) Py_CLEAR(arguments);
  }
  if (arguments == NULL) return NULL;
  return Py_BuildValue("NN", arguments, PyNativeType_Internal_Text(parsed.result));
}

#endif  // TYPEDCALL_PYTHON_SIGNATURES_H_
