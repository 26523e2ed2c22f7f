// Makes the module of a reader in C or C++.
#ifndef TYPEDCALL_TESTS_CONFORMANCE_READER_MODULE_H_
#define TYPEDCALL_TESTS_CONFORMANCE_READER_MODULE_H_

#include <Python.h>

#include "core/await.h"

// Sets `interface` and returns the module. Returns NULL with an exception set on failure.
static PyObject *ReaderModule(PyModuleDef *definition, const PyTypedcall_Interface **interface) {
  *interface = PyTypedcall_Await();
  if (*interface == NULL) return NULL;
  PyObject *module = PyModule_Create(definition);
  PyObject *names =
      Py_BuildValue("(ssssss)", "name", "def", "object", "instance", "sibling", "type");
  PyObject *places = names != NULL ? PySet_New(names) : NULL;
  Py_XDECREF(names);
  if (module == NULL || PyModule_AddObject(module, "PLACES", places) < 0) return NULL;
  return module;
}

#endif  // TYPEDCALL_TESTS_CONFORMANCE_READER_MODULE_H_
