// A reader of slots that uses core/custom_slots_limited.h.
#define Py_LIMITED_API 0x030c0000
#include "core/custom_slots_limited.h"

// The process has only one interpreter.
static PyCustomSlots_Limited api;

static PyObject *FindSlot(PyObject *module, PyObject *arguments) {
  PyObject *object;
  unsigned long long id;
  Py_ssize_t position = 0;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "OK|n", &object, &id, &position)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_LimitedFind(&api, object, (uintptr_t)id, position);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(slot->data.flags);
}

static PyMethodDef methods[] = {{"slot", FindSlot, METH_VARARGS, NULL},
                                {"slot_at", FindSlot, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "reader_limited_api", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_reader_limited_api(void) {
  if (PyCustomSlots_LimitedImport(&api) < 0) return NULL;
  PyObject *module = PyModule_Create(&definition);
  PyObject *names = Py_BuildValue("(s)", "type");
  PyObject *places = names != NULL ? PySet_New(names) : NULL;
  Py_XDECREF(names);
  if (module == NULL || PyModule_AddObjectRef(module, "PLACES", places) < 0) return NULL;
  Py_XDECREF(places);
  return module;
}
