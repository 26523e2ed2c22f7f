// For test_foreign_types.py: registers slots for any type, and finds them by the second function.
#include "core/foreign_slots.h"
#include "core/rendezvous.h"

// register(type, {id: flags})
static PyObject *Register(PyObject *self, PyObject *args) {
  PyTypeObject *type;
  PyObject *given, *id, *data;
  PyCustomSlot slots[16];
  Py_ssize_t count = 0;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &type, &PyDict_Type, &given)) return NULL;
  for (Py_ssize_t at = 0; count < 16 && PyDict_Next(given, &at, &id, &data); ++count) {
    slots[count].id = PyLong_AsSize_t(id);
    slots[count].data.flags = PyLong_AsSize_t(data);
  }
  if (PyErr_Occurred() || PyForeignSlots_Register(interface, type, slots, count) < 0) return NULL;
  Py_RETURN_NONE;
}

// find(object, id) -> flags or None
static PyObject *Find(PyObject *self, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL || !PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_FindAny(interface, object, (uintptr_t)id, 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromSize_t(slot->data.flags);
}

static PyMethodDef methods[] = {{"register", Register, METH_VARARGS, NULL},
                                {"find", Find, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot module_slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "foreign_tools", NULL, 0, methods, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_foreign_tools(void) { return PyModuleDef_Init(&module); }
