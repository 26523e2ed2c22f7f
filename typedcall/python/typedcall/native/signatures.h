// The lists of type codes and flags, and the parser of signatures, for
// typedcall/record/codes.py: both extension modules of the package export them.
#ifndef TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_
#define TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_

#include "typedcall/native_callable.h"
#include "typedcall/signature.h"

// (letters, C type, kind, size, alignment, has error value) of every type code. A new reference, or
// NULL.
static inline PyObject *PyNativeType_Codes(void) {
  static const char *const rows[][2] = {
#define ROW(NAME, LETTERS, TYPE, KIND) {#TYPE, #KIND},
      PyNativeType_LIST(ROW)
#undef ROW
  };
  PyObject *codes = PyTuple_New(PyNativeType_COUNT);
  for (int code = 0; codes != NULL && code < PyNativeType_COUNT; ++code) {
    PyObject *row =
        Py_BuildValue("sssnnO", PyNativeCode_Letters(code), rows[code][0], rows[code][1],
                      (Py_ssize_t)PyNativeCode_Size(code), (Py_ssize_t)PyNativeCode_Alignment(code),
                      PyNativeKind_HasErrorValue(PyNativeCode_Kind(code)) ? Py_True : Py_False);
    if (row == NULL || PyTuple_SetItem(codes, code, row) < 0) Py_CLEAR(codes);
  }
  return codes;
}

// (name, bit, words) of every flag. A new reference, or NULL.
static inline PyObject *PyNativeCallable_Flags(void) {
#define ROW(NAME, WORDS) #NAME, (unsigned long)PyNativeCallable_##NAME, WORDS,
#define FORMAT(NAME, WORDS) "(sks)"
  return Py_BuildValue("(" PyNativeCallable_FLAG_LIST(FORMAT) ")",
                       PyNativeCallable_FLAG_LIST(ROW) NULL);
#undef FORMAT
#undef ROW
}

// Gives a module what does not change. Returns 0, or -1 with an exception.
static inline int PyNativeSignature_AddLists(PyObject *module) {
  PyObject *codes = PyNativeType_Codes(), *flags = PyNativeCallable_Flags();
  const int failed =
      codes == NULL || flags == NULL || PyObject_SetAttrString(module, "TYPE_CODES", codes) < 0 ||
      PyObject_SetAttrString(module, "FLAGS", flags) < 0 ||
      PyModule_AddIntConstant(module, "ABI_MASK", (long)PyNativeCallable_ABI_MASK) < 0 ||
      PyModule_AddIntConstant(module, "MANDATORY_MASK", (long)PyNativeCallable_MANDATORY_MASK) < 0;
  Py_XDECREF(codes);
  Py_XDECREF(flags);
  return failed ? -1 : 0;
}

static inline PyObject *PyNativeType_Internal_Text(PyNativeType type) {
  return PyUnicode_FromFormat("%s%s%s",
                              !type.is_pointer              ? ""
                              : PyNativeType_IsBuffer(type) ? "*"
                                                            : "&",
                              (type.is_pointer & PyNativePointer_CONST) != 0 ? "k" : "",
                              PyNativeCode_Letters(type.code));
}

#define PyNativeSignature_PARSE_DOC                                                      \
  "parse_signature($module, signature, /)\n--\n\n"                                       \
  "'d*kl->d' as (['d', '*kl'], 'd'): what Python passes and gets. ValueError, with the " \
  "position, for what is no signature; TypeError for what is no str."

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

#endif  // TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_
