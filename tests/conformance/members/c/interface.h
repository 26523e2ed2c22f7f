// Looks up the interface between modules (docs/ABI.md, 5.1 to 5.3).
#ifndef MEMBER_C_INTERFACE_H
#define MEMBER_C_INTERFACE_H

#include <Python.h>

#include "abi.h"

// Returns NULL without an exception if there is no usable interface.
static inline const Interface *look_up_interface(void) {
  PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject *capsule = dict ? PyDict_GetItemString(dict, INTERFACE_NAME) : NULL;
  const Interface *interface = NULL;
  Py_XINCREF(capsule);
  if (!capsule) {
    PyObject *name = PyUnicode_FromString("_extensibletype");
    PyObject *home = name ? PyImport_GetModule(name) : NULL;
    capsule = home ? PyObject_GetAttrString(home, "typedcall_v2") : NULL;
    Py_XDECREF(home);
    Py_XDECREF(name);
  }
  if (capsule && PyCapsule_IsValid(capsule, INTERFACE_NAME)) {
    interface = PyCapsule_GetPointer(capsule, INTERFACE_NAME);
    if (interface->abi_major != 1 || interface->size < INTERFACE_SIZE) interface = NULL;
  }
  Py_XDECREF(capsule);
  PyErr_Clear();
  return interface;
}

#endif
