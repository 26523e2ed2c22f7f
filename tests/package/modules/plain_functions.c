/* The counterpart of typed_functions.cc without tags. The module's `addresses` contains the
 * addresses of the C functions. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../support/c_module.h"
#include "addresses.h"

static long inc_c(long x) { return (long)((unsigned long)x + 1); }
static double add_c(double a, double b) { return a + b; }
static double mix_c(double a, long b, double c, long d) { return a * (double)b + c * (double)d; }
static double half_c(double x) { return x / 2; }
/* The result differs from the Python function's, which shows that a call was native. */
static double half_differs_c(double x) { return x / 2 + 1000; }

static PyObject *inc(PyObject *self, PyObject *argument) {
  PyObject *integer = PyNumber_Index(argument); /* PyLong_AsLong accepts floats before 3.10 */
  const long x = integer != NULL ? PyLong_AsLong(integer) : -1;
  Py_XDECREF(integer);
  if (x == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(inc_c(x));
}

static PyObject *add(PyObject *self, PyObject *args) {
  double a, b;
  if (!PyArg_ParseTuple(args, "dd:add", &a, &b)) return NULL;
  return PyFloat_FromDouble(add_c(a, b));
}

static PyObject *mix(PyObject *self, PyObject *args) {
  double a, c;
  long b, d;
  if (!PyArg_ParseTuple(args, "dldl:mix", &a, &b, &c, &d)) return NULL;
  return PyFloat_FromDouble(mix_c(a, b, c, d));
}

static PyObject *half(PyObject *self, PyObject *argument) {
  const double x = PyFloat_AsDouble(argument);
  if (x == -1 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(half_c(x));
}

static PyMethodDef methods[] = {{"inc", inc, METH_O, "Add one."},
                                {"add", add, METH_VARARGS, "Add two floats."},
                                {"mix", mix, METH_VARARGS, NULL},
                                {"half", half, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};

static int exec(PyObject *module) {
  PyObject *addresses = PyDict_New();
  const int failed = addresses == NULL || put(addresses, "inc", (void *)inc_c) < 0 ||
                     put(addresses, "add", (void *)add_c) < 0 ||
                     put(addresses, "mix", (void *)mix_c) < 0 ||
                     put(addresses, "half", (void *)half_c) < 0 ||
                     put(addresses, "half_differs", (void *)half_differs_c) < 0 ||
                     PyObject_SetAttrString(module, "addresses", addresses) < 0;
  Py_XDECREF(addresses);
  return failed ? -1 : 0;
}

TEST_MODULE_SLOTS(plain_functions, methods, {Py_mod_exec, (void *)exec}, TEST_MODULE_OWN_GIL)
