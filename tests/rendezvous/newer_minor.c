/* A provider of a newer minor version, with functions, slots, letters and flags that this tree does
 * not know. */
#define FAKED_MAJOR PyTypedcall_ABI_MAJOR
#define FAKED_MINOR (PyTypedcall_ABI_MINOR + 1)
#define PROVIDER_NAME "newer_minor"
#define PROVIDER_IDEA 3
/* The ID of a future registrar. */
#define PROVIDER_UNKNOWN_SLOT 0x7e000101
#define PROVIDER_EXEC AddTwice

#include "tests/rendezvous/faked_abi.h"
#include "typedcall/native_callable.h"
static int AddTwice(PyObject *module);
/* This header uses the names above. */
#include "tests/core/provider.h"

static double WrongWay(double x) { return -x; }
static double TwiceOf(double x) { return 2 * x; }

static PyObject *Twice(PyObject *module, PyObject *number) {
  const double x = PyFloat_AsDouble(number);
  if (x <= -1 && x >= -1 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(TwiceOf(x));
}

#define ENTRY(signature, flags, function) \
  { signature, flags, (void *)(uintptr_t)(function) }
static const struct {
  Py_ssize_t count;
  PyNativeCallableEntry entries[5];
} table = {5,
           {ENTRY("+d->d", 0, WrongWay),        /* an unknown letter */
            ENTRY("d->d", 0x8000, WrongWay),    /* an unknown flag */
            ENTRY("d->d", 0x1000000, WrongWay), /* an unknown ABI of the record */
            ENTRY("d->d", 0x80000, TwiceOf),    /* an unknown hint */
            ENTRY("d->d", 0, WrongWay)}};
static PyMethodDef twice = {"twice", Twice, METH_O, NULL};

static int AddTwice(PyObject *module) {
  const PyTypedcall_Interface *interface = ((State *)PyModule_GetState(module))->interface;
  PyObject *function = PyCFunction_NewEx(&twice, module, NULL);
  if (function == NULL) return -1;
  const int failed = PyModule_AddObject(module, "twice", function);
  if (failed) {
    Py_DECREF(function);
    return -1;
  }
  return interface->publish(interface->state, PyTypedcall_BY_DEF, &twice, module, &table, NULL,
                            NULL, NULL) == 1
             ? 0
             : -1;
}

FAKED_INIT(newer_minor)
