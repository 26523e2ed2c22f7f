// The extension module `typedcall.native._native` of PyPy: reads the METH_TYPED metadata in front
// of a builtin function's name. Nothing here calls a native function; cffi does.
#include "typedcall/tag/native_table.h"
#include "typedcall/typed_method.h"

#include "signatures.h"

#ifndef PYPY_VERSION
#error "This is the source for PyPy; CPython's is _native.cc"
#endif

// The row behind an extension's function or method; NULL for anything else. PyCFunction_Check is
// true for PyPy's own functions, too, but those have no PyMethodDef and looking for it crashes: the
// type must be exactly cpyext's. A bound method is of yet another type; its `__func__` is ours.
static PyMethodDef *DefOf(PyObject *callable) {
  if (Py_TYPE(callable) == &PyCFunction_Type) return ((PyCFunctionObject *)callable)->m_ml;
  if (Py_TYPE(callable) == &PyMethodDescr_Type) {
    return ((PyMethodDescrObject *)callable)->d_method;
  }
  return NULL;
}

// Is there nothing that an entry with TAKES_SELF could be given?
static int HasNoSelf(PyObject *callable, const PyMethodDef *def) {
  if (def == NULL || Py_TYPE(callable) != &PyCFunction_Type) return 0;
  return (def->ml_flags & METH_STATIC) != 0 || ((PyCFunctionObject *)callable)->m_self == NULL;
}

// Appends (signature, flags, address, place, callable). Leaves out what nobody can use, as the C++
// resolver does. Returns 0, or -1 with an exception.
static int Append(PyObject *list, const PyNativeCallableEntry *entry, const char *place,
                  PyObject *callable) {
  if (entry->signature == NULL || entry->funcptr == NULL) return 0;
  PyNativeSignature parsed;
  if (PyNativeSignature_ParseString(entry->signature, &parsed, NULL) < 0) return 0;
  if (!PyNativeCallable_IsWellFormed(entry->flags, parsed.result)) return 0;
  if ((entry->flags & PyNativeCallable_TAKES_SELF) != 0 && HasNoSelf(callable, DefOf(callable))) {
    return 0;
  }
  PyObject *row =
      Py_BuildValue("skNsO", entry->signature, (unsigned long)entry->flags,
                    PyLong_FromUnsignedLongLong((uintptr_t)entry->funcptr), place, callable);
  const int failed = row == NULL || PyList_Append(list, row) < 0;
  Py_XDECREF(row);
  return failed ? -1 : 0;
}

static PyObject *Entries(PyObject *module, PyObject *callable) {
  (void)module;
  PyObject *list = PyList_New(0);
  if (list == NULL) return NULL;
  const PyMethodDef *def = DefOf(callable);
  const PyNativeCallableTable *table = PyTypedMethod_Table(def);
  int failed = 0;
  if (table != NULL) {
    const PyNativeCallableEntry *entry = table->entries;
    for (Py_ssize_t i = 0; i < table->count && !failed; ++i, ++entry) {
      failed = Append(list, entry, "method metadata", callable) < 0;
    }
  } else {
    // PyPy's own struct, without a table of ours.
    PyNativeCallableEntry entry;
    char signature[PyTypedMethod_PYPY_LENGTH];
    if (PyTypedMethod_ReadPyPy(def, &entry, signature)) {
      failed = Append(list, &entry, "PyPy metadata", callable) < 0;
    }
  }
  if (failed) Py_CLEAR(list);
  return list;
}

static PyObject *Check(PyObject *module, PyObject *args) {
  (void)module;
  PyNativeCallableEntry entry;
  unsigned long flags;
  unsigned long long address;
  Py_ssize_t number;
  const char *name;
  if (!PyArg_ParseTuple(args, "skKns:check", &entry.signature, &flags, &address, &number, &name)) {
    return NULL;
  }
  entry.flags = flags;
  entry.funcptr = (void *)(uintptr_t)address;
  if (PyNativeCallable_CheckEntry(&entry, number, name) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *AreEquivalent(PyObject *module, PyObject *args) {
  (void)module;
  const char *one, *other;
  if (!PyArg_ParseTuple(args, "ss:are_equivalent", &one, &other)) return NULL;
  return PyBool_FromLong(PyNativeSignature_Equivalent(one, other));
}

static PyObject *Answers(PyObject *module, PyObject *args) {
  (void)module;
  const char *offered, *asked;
  if (!PyArg_ParseTuple(args, "ss:answers", &offered, &asked)) return NULL;
  return PyBool_FromLong(PyNativeSignature_Answers(offered, asked));
}

static PyObject *Describe(PyObject *module, PyObject *args) {
  PyObject *signature, *flags;
  if (!PyArg_ParseTuple(args, "OO:describe", &signature, &flags)) return NULL;
  return PyNativeView_DescribeForPython(module, signature, flags);
}

static PyObject *Rank(PyObject *module, PyObject *args) {
  (void)module;
  const char *kind, *letters;
  if (!PyArg_ParseTuple(args, "ss:rank", &kind, &letters)) return NULL;
  return PyNativeChoice_RankForPython(kind, letters);
}

static int Exec(PyObject *module) {
  PyObject *types = PyTuple_Pack(2, (PyObject *)&PyCFunction_Type, (PyObject *)&PyMethodDescr_Type);
  const int failed = types == NULL || PyObject_SetAttrString(module, "TYPES", types) < 0 ||
                     PyNativeSignature_AddLists(module) < 0;
  Py_XDECREF(types);
  return failed ? -1 : 0;
}

static PyMethodDef methods[] = {
    {"entries", Entries, METH_O,
     "entries($module, callable, /)\n--\n\n"
     "(signature, flags, address, place, callable) of every entry in the metadata of an "
     "extension's "
     "function or method; an empty list for any other object."},
    {"check", Check, METH_VARARGS,
     "check($module, signature, flags, address, number, name, /)\n--\n\n"
     "ValueError if that cannot be offered as an entry."},
    {"parse_signature", PyNativeSignature_ParseForPython, METH_O, PyNativeSignature_PARSE_DOC},
    {"describe", Describe, METH_VARARGS, PyNativeView_DESCRIBE_DOC},
    {"rank", Rank, METH_VARARGS, PyNativeChoice_RANK_DOC},
    {"are_equivalent", AreEquivalent, METH_VARARGS,
     "are_equivalent($module, one, other, /)\n--\n\n"
     "Are two signatures the same but for names of integers (`l` and `q`)?"},
    {"answers", Answers, METH_VARARGS,
     "answers($module, offered, asked, /)\n--\n\n"
     "Can a function that is offered be called as what is asked for: equivalent, or with more that "
     "is const?"},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)Exec}, {0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "typedcall.native._native",
                                 "Reads METH_TYPED metadata on PyPy.",
                                 0,
                                 methods,
                                 slots,
                                 NULL,
                                 NULL,
                                 NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
