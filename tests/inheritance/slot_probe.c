/* Extensible types made to order with raw IDs, and every answer of the consumer's functions, for
 * the Python tests of inheritance. Unlike tests/core's module it can say skipped positions. */
#include "core/extensible_type.h"

/* Room for `count` slots and no more, so that AddressSanitizer sees who reads behind them. */
static PyCustomSlot *ReadSlots(PyObject *wanted, Py_ssize_t *count) {
  PyObject *fast = PySequence_Fast(wanted, "slots are a sequence of (id, flags)");
  if (fast == NULL) return NULL;
  *count = PySequence_Fast_GET_SIZE(fast);
  PyCustomSlot *slots = (PyCustomSlot *)PyMem_Malloc((size_t)*count * sizeof(*slots) + 1);
  for (Py_ssize_t i = 0; slots != NULL && i < *count; ++i) {
    PyObject *pair = PySequence_Fast_GET_ITEM(fast, i);
    unsigned long long id, flags;
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "KK", &id, &flags)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a slot is a tuple (id, flags)");
      PyMem_Free(slots);
      slots = NULL;
      break;
    }
    slots[i].id = (uintptr_t)id;
    slots[i].data.flags = (uintptr_t)flags;
  }
  Py_DECREF(fast);
  return slots;
}

static int Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

/* make(slots, bases = None): a new type with these own slots. */
static PyObject *Make(PyObject *module, PyObject *args) {
  PyObject *wanted, *bases = Py_None;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O|O", &wanted, &bases)) return NULL;
  PyCustomSlot *slots = ReadSlots(wanted, &count);
  if (slots == NULL) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  PyType_Slot type_slots[] = {{Py_tp_traverse, (void *)Traverse}, {0, NULL}};
  PyType_Spec spec = {"slot_probe.Made", 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, type_slots};
  PyObject *type =
      PyExtensibleType_FromSpec(module, &spec, bases == Py_None ? NULL : bases, slots, count);
  PyMem_Free(slots);
  return type;
}

static PyObject *Check(PyObject *module, PyObject *object) {
  return PyBool_FromLong(PyCustomSlots_Check(object));
}

static PyObject *Count(PyObject *module, PyObject *object) {
  return PyLong_FromSsize_t(PyCustomSlots_Count(object));
}

/* table(object): [(id, flags), ...]; None when Table gives NULL. */
static PyObject *Table(PyObject *module, PyObject *object) {
  const PyCustomSlot *table = PyCustomSlots_Table(object);
  if (table == NULL) Py_RETURN_NONE;
  PyObject *list = PyList_New(0);
  for (Py_ssize_t i = 0; list != NULL && i < PyCustomSlots_Count(object); ++i) {
    PyObject *pair = Py_BuildValue("KK", (unsigned long long)table[i].id,
                                   (unsigned long long)table[i].data.flags);
    if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

/* address(object): of the table, to tell a shared one. */
static PyObject *Address(PyObject *module, PyObject *object) {
  return PyLong_FromVoidPtr(PyCustomSlots_Table(object));
}

/* find(object, id, expected = 0): the flags of the slot, or None. */
static PyObject *Find(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  Py_ssize_t expected = 0;
  if (!PyArg_ParseTuple(args, "OK|n", &object, &id, &expected)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, (uintptr_t)id, expected);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong((unsigned long long)slot->data.flags);
}

/* allocate(type): an instance even of a type that is still being made, as C code can get one. Not
 * for types whose instances have a dict. */
static PyObject *Allocate(PyObject *module, PyObject *type) {
  return PyType_GenericAlloc((PyTypeObject *)type, 0);
}

static PyMethodDef methods[] = {
    {"make", Make, METH_VARARGS, NULL},   {"check", Check, METH_O, NULL},
    {"count", Count, METH_O, NULL},       {"table", Table, METH_O, NULL},
    {"address", Address, METH_O, NULL},   {"find", Find, METH_VARARGS, NULL},
    {"allocate", Allocate, METH_O, NULL}, {NULL, NULL, 0, NULL},
};

static int Exec(PyObject *module) {
  PyTypeObject *metaclass = PyExtensibleType_Import();
  if (metaclass == NULL) return -1;
  if (PyModule_AddObject(module, "Metaclass", (PyObject *)metaclass) < 0) {
    Py_DECREF(metaclass);
    return -1;
  }
  return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)Exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "slot_probe", NULL, 0, methods, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_slot_probe(void) { return PyModuleDef_Init(&module_def); }
