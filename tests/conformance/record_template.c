// The template of the module of records. records.py inserts functions, rows and symbols at the
// marks.
#include "record_module.h"
#include "record_types.h"
// Needs the headers above.
#include "record_functions.h"

// FUNCTIONS

// A record, and its static def if it has a sibling symbol.
static const struct {
  Record record;
  PyMethodDef *def;
} rows[] = {
    // ROWS
};

static const Record *Find(const char *id, PyMethodDef **def) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    if (strcmp(rows[i].record.id, id) == 0) {
      *def = rows[i].def;
      return &rows[i].record;
    }
  }
  PyErr_SetString(PyExc_KeyError, id);
  return NULL;
}

static PyObject *Make(PyObject *module, PyObject *arguments) {
  const char *id, *place;
  PyMethodDef *def;
  if (!PyArg_ParseTuple(arguments, "ss", &id, &place)) return NULL;
  const Record *record = Find(id, &def);
  if (record == NULL) return NULL;
  if (strcmp(place, "name") == 0) return NamedCallable(module, record);
  if (strcmp(place, "nothing") == 0) return PlainCallable(module, record);
#ifndef PYPY_VERSION
  if (strcmp(place, "subtype") == 0) return SubtypeCallable(module, record);
  if (strcmp(place, "def") == 0) return DefCallable(module, record);
  if (strcmp(place, "object") == 0) return ObjectCallable(record);
  if (strcmp(place, "instance") == 0) return InstanceCallable(record);
  if (strcmp(place, "sibling") == 0) {
    PyObject *name = PyUnicode_FromString("conformance");
    PyObject *function = name != NULL ? PyCFunction_NewEx(def, NULL, name) : NULL;
    Py_XDECREF(name);
    return function;
  }
#endif
  PyErr_SetString(PyExc_NotImplementedError, place);
  return NULL;
}

#ifndef PYPY_VERSION
static PyObject *OfferThere(PyObject *module, PyObject *arguments) {
  const char *id, *place;
  PyObject *callable;
  PyMethodDef *def;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "Oss", &callable, &id, &place)) return NULL;
  const Record *record = Find(id, &def);
  if (record == NULL || Offer(callable, record, place) < 0) return NULL;
  Py_RETURN_NONE;
}

// Makes the class that introduces SEP 201's slot.
static PyObject *SlotClass(PyObject *module, PyObject *arguments) {
  PyObject *body;
  int is_elsewhere, is_callable;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "O!pp", &PyDict_Type, &body, &is_elsewhere, &is_callable))
    return NULL;
  return (PyObject *)InstanceClass(body, is_elsewhere, is_callable);
}

static PyObject *MakeForeignClass(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return (PyObject *)ForeignClass();
}

// Gives a class another tp_call, but leaves its `__call__`.
static PyObject *ChangeCall(PyObject *module, PyObject *type) {
  (void)module;
  ((PyTypeObject *)type)->tp_call = CallOther;
  Py_RETURN_NONE;
}

// Runs source text in a new interpreter.
static PyObject *RunElsewhere(PyObject *module, PyObject *arguments) {
  const char *text;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "s", &text)) return NULL;
  PyThreadState *here = PyThreadState_Get(), *there = Py_NewInterpreter();
  const int status = there != NULL ? PyRun_SimpleString(text) : -1;
  if (there != NULL) Py_EndInterpreter(there);
  PyThreadState_Swap(here);
  return PyLong_FromLong(status);
}

// Makes an instance with the table of the record, or without a table if the ID is None.
static PyObject *MakeInstance(PyObject *module, PyObject *arguments) {
  const char *id;
  PyObject *type;
  PyMethodDef *def;
  int is_elsewhere;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "zO!p", &id, &PyType_Type, &type, &is_elsewhere)) return NULL;
  const Record *record = id != NULL ? Find(id, &def) : NULL;
  if (id != NULL && record == NULL) return NULL;
  return InstanceOf((PyTypeObject *)type, record != NULL ? GuardedTable(record) : NULL,
                    is_elsewhere);
}

static PyObject *MakeInstanceBehindItsTable(PyObject *module, PyObject *arguments) {
  const char *id;
  PyMethodDef *def;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "s", &id)) return NULL;
  const Record *record = Find(id, &def);
  return record != NULL ? InstanceBehindItsTable(GuardedTable(record)) : NULL;
}

static PyObject *ReplaceTable(PyObject *module, PyObject *arguments) {
  const char *id;
  PyObject *instance;
  PyMethodDef *def;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "Os", &instance, &id)) return NULL;
  const Record *record = Find(id, &def);
  if (record == NULL) return NULL;
  __atomic_store_n(&((Instance *)instance)->table, GuardedTable(record), __ATOMIC_RELEASE);
  Py_RETURN_NONE;
}

static PyObject *Lookalike(PyObject *module, PyObject *arguments) {
  const char *kind;
  static const Slot table[] = {{0x01000201, 76}, {0x01000101, 77}, {0x01000101, 78}};
  const uint64_t magic = UINT64_C(0xd1a0c5b3e7f42961);
  (void)module;
  if (!PyArg_ParseTuple(arguments, "s", &kind)) return NULL;
  if (strcmp(kind, "larger metaclass, magic 0") == 0) {
    return TypeOfLargerMetaclass(64, 0, table, 2);
  }
  if (strcmp(kind, "larger metaclass, another magic") == 0) {
    return TypeOfLargerMetaclass(64, magic - 1, table, 2);
  }
  if (strcmp(kind, "metaclass of 24 bytes more") == 0) {
    return TypeOfLargerMetaclass(24, magic, table, 2);
  }
  if (strcmp(kind, "metaclass of 16 bytes more") == 0) {
    return TypeOfLargerMetaclass(16, magic, table, 2);
  }
  if (strcmp(kind, "metaclass of 23 bytes more") == 0) {
    return TypeOfLargerMetaclass(23, magic, table, 2);
  }
  if (strcmp(kind, "key of another metaclass") == 0) return TypeWithKey(0x01000101, table + 1);
  if (strcmp(kind, "empty position") == 0) {
    static const Slot empty[] = {{0, 99}, {0x01000101, 77}};
    return TypeOfLargerMetaclass(64, magic, empty, 2);
  }
  if (strcmp(kind, "not ready") == 0) return ObjectOfUnreadyType();
  if (strcmp(kind, "two equal IDs") == 0) return TypeOfLargerMetaclass(64, magic, table, 3);
  if (strcmp(kind, "count 0") == 0) return TypeOfLargerMetaclass(64, magic, table, 0);
  if (strcmp(kind, "count 1") == 0) return TypeOfLargerMetaclass(64, magic, table, 1);
  if (strcmp(kind, "registered") == 0) {
    PyTypeObject *foreign = ForeignClass();
    return foreign != NULL ? foreign->tp_alloc(foreign, 0) : NULL;
  }
  PyTypeObject *made = strcmp(kind, "static") == 0                   ? StaticBase()
                       : strcmp(kind, "static among others") == 0    ? StaticAmongOthers()
                       : strcmp(kind, "static derived") == 0         ? StaticDerived()
                       : strcmp(kind, "static type below") == 0      ? StaticTypeBelow()
                       : strcmp(kind, "plain metaclass, magic") == 0 ? StaticTypeWithMagic()
                       : strcmp(kind, "skipped position") == 0       ? ClassWithASkip()
                                                                     : NULL;
  if (made != NULL) return made->tp_alloc(made, 0);
  if (PyErr_Occurred()) return NULL;
  PyErr_SetString(PyExc_KeyError, kind);
  return NULL;
}

static PyObject *Forge(PyObject *module, PyObject *arguments) {
  const char *name;
  int major, minor, size, where;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "siiii", &name, &major, &minor, &size, &where)) return NULL;
  if (ForgeInterface(name, major, minor, size, (enum Where)where) < 0) return NULL;
  Py_RETURN_NONE;
}
#endif

static PyMethodDef methods[] = {{"make", Make, METH_VARARGS, NULL},
#ifndef PYPY_VERSION
                                {"offer", OfferThere, METH_VARARGS, NULL},
                                {"slot_class", SlotClass, METH_VARARGS, NULL},
                                {"foreign_class", MakeForeignClass, METH_NOARGS, NULL},
                                {"change_call", ChangeCall, METH_O, NULL},
                                {"run_elsewhere", RunElsewhere, METH_VARARGS, NULL},
                                {"make_instance", MakeInstance, METH_VARARGS, NULL},
                                {"make_behind", MakeInstanceBehindItsTable, METH_VARARGS, NULL},
                                {"replace_table", ReplaceTable, METH_VARARGS, NULL},
                                {"lookalike", Lookalike, METH_VARARGS, NULL},
                                {"forge_interface", Forge, METH_VARARGS, NULL},
#endif
                                {NULL, NULL, 0, NULL}};
// Adds ENTRIES to the module: {id: [(signature, flags, address), ...]}.
static int AddEntries(PyObject *module) {
  PyObject *found = PyDict_New();
  for (size_t i = 0; found != NULL && i < sizeof(rows) / sizeof(*rows); ++i) {
    const Record *record = &rows[i].record;
    PyObject *list = PyList_New(0);
    for (int at = 0; at < record->length; ++at) {
      const Entry *entry = &record->entries[at];
      PyObject *row = Py_BuildValue("(zKK)", entry->signature, (unsigned long long)entry->flags,
                                    (unsigned long long)(uintptr_t)entry->function);
      PyList_Append(list, row);
      Py_XDECREF(row);
    }
    PyDict_SetItemString(found, record->id, list);
    Py_XDECREF(list);
  }
  return PyModule_AddObject(module, "ENTRIES", found);
}

static int Execute(PyObject *module) {
  if (AddEntries(module) < 0 || PyErr_Occurred()) return -1;
  // SYMBOLS
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)Execute}, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "conformance_records", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_conformance_records(void);
PyMODINIT_FUNC PyInit_conformance_records(void) { return PyModuleDef_Init(&definition); }
