// The lists of type codes, flags and kinds of values, the parser of signatures and what follows
// from them, for typedcall/record/codes.py: both extension modules of the package export them.
#ifndef TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_
#define TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_

#include "typedcall/entry_view.h"
#include "typedcall/native_callable.h"
#include "typedcall/overload_choice.h"
#include "typedcall/signature.h"

#include <string.h>

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

static const char *const PyNativeGiven_Names[] = {
#define ROW(KIND, B, I, D, F, ZD, ZF, T, O) #KIND,
    PyNativeGiven_LIST(ROW)
#undef ROW
};

// The names of all kinds of values. A new reference, or NULL.
static inline PyObject *PyNativeGiven_Kinds(void) {
  PyObject *kinds = PyTuple_New(PyNativeGiven_COUNT);
  for (int kind = 0; kinds != NULL && kind < PyNativeGiven_COUNT; ++kind) {
    PyObject *name = PyUnicode_FromString(PyNativeGiven_Names[kind]);
    if (name == NULL || PyTuple_SetItem(kinds, kind, name) < 0) Py_CLEAR(kinds);
  }
  return kinds;
}

// Gives a module what does not change. Returns 0, or -1 with an exception.
static inline int PyNativeSignature_AddLists(PyObject *module) {
  PyObject *codes = PyNativeType_Codes(), *flags = PyNativeCallable_Flags();
  PyObject *kinds = PyNativeGiven_Kinds();
  const int failed =
      codes == NULL || flags == NULL || kinds == NULL ||
      PyObject_SetAttrString(module, "TYPE_CODES", codes) < 0 ||
      PyObject_SetAttrString(module, "FLAGS", flags) < 0 ||
      PyObject_SetAttrString(module, "KINDS", kinds) < 0 ||
      PyModule_AddIntConstant(module, "ABI_MASK", (long)PyNativeCallable_ABI_MASK) < 0 ||
      PyModule_AddIntConstant(module, "MANDATORY_MASK", (long)PyNativeCallable_MANDATORY_MASK) <
          0 ||
      PyModule_AddIntConstant(module, "HANDLED", (long)PyNativeView_HANDLED) < 0;
  Py_XDECREF(codes);
  Py_XDECREF(flags);
  Py_XDECREF(kinds);
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

// Parses a str. Returns 0, or -1 with ValueError, which has the position, or TypeError.
static inline int PyNativeSignature_Internal_FromPython(PyObject *text, PyNativeSignature *parsed) {
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "a signature is a str, not '%.100s'", Py_TYPE(text)->tp_name);
    return -1;
  }
  Py_ssize_t length;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
  if (utf8 == NULL) return -1;
  PyNativeSignature_Fault fault;
  if (PyNativeSignature_Parse(utf8, (size_t)length, parsed, &fault) == 0) return 0;
  // Without what a subclass makes of its repr().
  PyObject *exact = PyUnicode_FromObject(text);
  if (exact == NULL) return -1;
  PyErr_Format(PyExc_ValueError, "signature %R at position %zd: %s", exact,
               (Py_ssize_t)fault.position, fault.reason);
  Py_DECREF(exact);
  return -1;
}

// (letters of the first `count` arguments, letters of `result`). A new reference, or NULL.
static inline PyObject *PyNativeSignature_Internal_Letters(const PyNativeSignature *parsed,
                                                           int count, PyNativeType result) {
  PyObject *arguments = PyList_New(count);
  for (int i = 0; arguments != NULL && i < count; ++i) {
    PyObject *letters = PyNativeType_Internal_Text(parsed->args[i]);
    if (letters == NULL || PyList_SetItem(arguments, i, letters) < 0) Py_CLEAR(arguments);
  }
  if (arguments == NULL) return NULL;
  return Py_BuildValue("NN", arguments, PyNativeType_Internal_Text(result));
}

#define PyNativeSignature_PARSE_DOC                                                      \
  "parse_signature($module, signature, /)\n--\n\n"                                       \
  "'d*kl->d' as (['d', '*kl'], 'd'): what Python passes and gets. ValueError, with the " \
  "position, for what is no signature; TypeError for what is no str."

// The function parse_signature() of both modules.
static inline PyObject *PyNativeSignature_ParseForPython(PyObject *module, PyObject *text) {
  (void)module;
  PyNativeSignature parsed;
  if (PyNativeSignature_Internal_FromPython(text, &parsed) < 0) return NULL;
  return PyNativeSignature_Internal_Letters(&parsed, parsed.nargs, parsed.result);
}

#define PyNativeView_DESCRIBE_DOC                                                                \
  "describe($module, signature, flags, /)\n--\n\n"                                               \
  "What an entry is to Python, of typedcall/entry_view.h: letters of its arguments, and of its " \
  "result; verdict; hold; mask, expected and is_value_if_equal of the comparison behind the "    \
  "call. The value of a function that returns a status or falls back is in its place, not "      \
  "among the arguments."

// The function describe() of both modules.
static inline PyObject *PyNativeView_DescribeForPython(PyObject *module, PyObject *text,
                                                       PyObject *flags) {
  static const char *const verdicts[] = {"UNUSABLE", "RESULT", "MAY_RAISE",
                                         "ASK",      "STATUS", "FALLS_BACK"};
  static const char *const holds[] = {"NOTHING", "THREAD", "NO_GIL"};
  (void)module;
  PyNativeSignature parsed;
  if (PyNativeSignature_Internal_FromPython(text, &parsed) < 0) return NULL;
  const unsigned long long bits = PyLong_AsUnsignedLongLongMask(flags);
  if (bits == (unsigned long long)-1 && PyErr_Occurred() != NULL) return NULL;
  const PyNativeView view = PyNativeView_Of(&parsed, (uintptr_t)bits);
  const PyNativeCheck check = PyNativeCheck_Of(view.verdict, &parsed, (uintptr_t)bits);
  PyObject *types = PyNativeSignature_Internal_Letters(&parsed, view.parameters, view.result);
  if (types == NULL) return NULL;
  PyObject *described = Py_BuildValue(
      "OOssKKO", PyTuple_GetItem(types, 0), PyTuple_GetItem(types, 1), verdicts[view.verdict],
      holds[view.hold], (unsigned long long)check.mask, (unsigned long long)check.expected,
      check.is_value_if_equal ? Py_True : Py_False);
  Py_DECREF(types);
  return described;
}

#define PyNativeChoice_RANK_DOC                                                               \
  "rank($module, kind, letters, /)\n--\n\n"                                                   \
  "How well a value of a kind in KINDS suits a parameter, 0 best, or None: it does not. Not " \
  "for pointers and buffers, which are tried."

// The function rank() of both modules. ValueError for what is no kind, or no type.
static inline PyObject *PyNativeChoice_RankForPython(const char *kind, const char *letters) {
  PyNativeType type = {PyNativeType_VOID, 0};
  const size_t length = strlen(letters);
  size_t position = 0;
  int given = 0;
  while (given < PyNativeGiven_COUNT && strcmp(PyNativeGiven_Names[given], kind) != 0) ++given;
  if (given == PyNativeGiven_COUNT) {
    return PyErr_Format(PyExc_ValueError, "'%.100s' is no kind of value", kind);
  }
  if (PyNativeSignature_Internal_ReadType(letters, length, &position, &type) != NULL ||
      position != length) {
    return PyErr_Format(PyExc_ValueError, "'%.100s' is no type", letters);
  }
  const enum PyNativeRank rank =
      PyNativeChoice_Rank(PyNativeChoice_Row(type), (enum PyNativeGiven)given);
  if (rank == PyNativeRank_NONE) Py_RETURN_NONE;
  return PyLong_FromLong((long)rank);
}

#endif  // TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_
