/* A provider whose defs are only found through sibling symbols. */
#include "tests/support/c_module.h"
#include "typedcall/typed_method.h"

static long add_one(long x) { return x + 1; }

static PyObject *boxed(PyObject *self, PyObject *x) {
  const long value = PyLong_AsLong(x);
  return value == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(value + 1);
}

PyTypedMethod_DEFINE(inc_typed, "inc", {"l->l", 0, (void *)add_one});

static PyMethodDef methods[] = {
    {"inc", boxed, METH_O, NULL},
    {"untagged", boxed, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypedMethod_SIBLING(inc, methods[0], inc_typed);

/* Another function with the same name. */
static PyMethodDef other_inc = {"inc", boxed, METH_O, NULL};

static PyObject *other(PyObject *self, PyObject *unused) {
  return PyCFunction_New(&other_inc, self);
}
static PyMethodDef other_def = {"other", other, METH_NOARGS, NULL};

static int exec(PyObject *module) {
  PyObject *function = PyCFunction_New(&other_def, module);
  if (function == NULL) return -1;
  if (PyModule_AddObject(module, "other", function) == 0) return 0;
  Py_DECREF(function);
  return -1;
}

TEST_MODULE_EXEC(resolve_sibling, methods, exec)
