// The module of a reader in C or C++.
#ifndef TYPEDCALL_TESTS_CONFORMANCE_READER_MODULE_H_
#define TYPEDCALL_TESTS_CONFORMANCE_READER_MODULE_H_

#include <Python.h>

#include "core/lazy_import.h"

// The module state, because each interpreter has its own interface.
typedef struct ReaderState {
  const PyTypedcall_Interface *interface;
} ReaderState;

static const PyTypedcall_Interface *InterfaceOf(PyObject *module) {
  return ((const ReaderState *)PyModule_GetState(module))->interface;
}

// Fills the module state, and PLACES. Returns 0, or -1 with an exception set.
static int ExecuteReader(PyObject *module) {
  ReaderState *state = (ReaderState *)PyModule_GetState(module);
  state->interface = PyTypedcall_ImportLazily();
  if (state->interface == NULL) return -1;
  PyObject *names =
      Py_BuildValue("(ssssss)", "name", "def", "object", "instance", "sibling", "type");
  PyObject *places = names != NULL ? PySet_New(names) : NULL;
  Py_XDECREF(names);
  const int failed = places == NULL || PyObject_SetAttrString(module, "PLACES", places) < 0;
  Py_XDECREF(places);
  return failed ? -1 : 0;
}

#endif  // TYPEDCALL_TESTS_CONFORMANCE_READER_MODULE_H_
