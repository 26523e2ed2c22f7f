/* Adds the addresses of C functions to a dict. */
#ifndef TYPEDCALL_TESTS_PACKAGE_MODULES_ADDRESSES_H_
#define TYPEDCALL_TESTS_PACKAGE_MODULES_ADDRESSES_H_

#include <Python.h>

static inline int put(PyObject *addresses, const char *name, void *address) {
  PyObject *number = PyLong_FromVoidPtr(address);
  const int failed = number == NULL || PyDict_SetItemString(addresses, name, number) < 0;
  Py_XDECREF(number);
  return failed ? -1 : 0;
}

#endif /* TYPEDCALL_TESTS_PACKAGE_MODULES_ADDRESSES_H_ */
