/* An ordinary module. Its Python functions call C functions that the shared library exports. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../support/c_module.h"

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int ef_gcd(int a, int b);
EXPORTED double ef_norm(double a, double b);
EXPORTED double sum_of_doubles(double a, double b);
EXPORTED long sum_of_longs(long a, long b);

int ef_gcd(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
double ef_norm(double a, double b) { return a * a + b * b; }
double sum_of_doubles(double a, double b) { return a + b; }
long sum_of_longs(long a, long b) { return a + b; }

static PyObject *gcd(PyObject *self, PyObject *args) {
  int a, b;
  return PyArg_ParseTuple(args, "ii:gcd", &a, &b) ? PyLong_FromLong(ef_gcd(a, b)) : NULL;
}

static PyObject *norm(PyObject *self, PyObject *args) {
  double a, b;
  return PyArg_ParseTuple(args, "dd:norm", &a, &b) ? PyFloat_FromDouble(ef_norm(a, b)) : NULL;
}

static PyObject *sum(PyObject *self, PyObject *args) {
  double a, b;
  return PyArg_ParseTuple(args, "dd:sum", &a, &b) ? PyFloat_FromDouble(sum_of_doubles(a, b)) : NULL;
}

static PyMethodDef methods[] = {{"gcd", gcd, METH_VARARGS, NULL},
                                {"norm", norm, METH_VARARGS, NULL},
                                {"sum", sum, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

TEST_MODULE(exported_functions, methods)
