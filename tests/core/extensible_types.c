/* Extensible types made to order, and what the consumer's functions say about any object.
 * For the Python tests of core/. */
#include "core/extensible_type.h"

static int Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

/* make({idea: flags, ...}, base or bases = None): a new type with these slots. */
static PyObject *Make(PyObject *module, PyObject *args) {
  PyObject *wanted, *bases = Py_None, *key, *flags;
  PyCustomSlot slots[16];
  Py_ssize_t count = 0, at = 0;
  if (!PyArg_ParseTuple(args, "O!|O", &PyDict_Type, &wanted, &bases)) return NULL;
  while (count < 16 && PyDict_Next(wanted, &at, &key, &flags)) {
    slots[count].id =
        PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, PyLong_AsUnsignedLong(key), 0);
    slots[count++].data.flags = PyLong_AsUnsignedLong(flags);
    if (PyErr_Occurred()) return NULL;
  }
  PyType_Slot type_slots[] = {{Py_tp_traverse, (void *)Traverse}, {0, NULL}};
  PyType_Spec spec = {"extensible_types.Made", 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, type_slots};
  return PyExtensibleType_FromSpec(module, &spec, bases == Py_None ? NULL : bases, slots, count);
}

/* slots(object): {idea: flags, ...} in the table's order, or None when it is not extensible. */
static PyObject *Slots(PyObject *module, PyObject *object) {
  (void)module;
  if (!PyCustomSlots_Check(object)) Py_RETURN_NONE;
  PyObject *all = PyDict_New();
  for (Py_ssize_t i = 0; all != NULL && i < PyCustomSlots_Count(object); ++i) {
    const PyCustomSlot *slot = &PyCustomSlots_Table(object)[i];
    PyObject *key = PyLong_FromUnsignedLong(PyCustomSlot_ID_IDEA(slot->id));
    PyObject *flags = PyLong_FromSize_t(slot->data.flags);
    if (key == NULL || flags == NULL || PyDict_SetItem(all, key, flags) < 0) Py_CLEAR(all);
    Py_XDECREF(key);
    Py_XDECREF(flags);
  }
  return all;
}

static PyMethodDef methods[] = {
    {"make", Make, METH_VARARGS, NULL},
    {"slots", Slots, METH_O, NULL},
    {NULL, NULL, 0, NULL},
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

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)Exec}, {0, NULL}};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "extensible_types", NULL, 0, methods, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extensible_types(void) { return PyModuleDef_Init(&module_def); }
