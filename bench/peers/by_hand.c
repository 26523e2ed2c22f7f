// The hand-written module, with METH_O and METH_FASTCALL. With LIKE_CLINIC it has a fast path for
// exact floats, like the code that CPython's Argument Clinic generates.
#include <Python.h>

#include "bench/peers/native.h"

#ifdef LIKE_CLINIC
#define DOUBLE_FROM(object) \
  (PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : PyFloat_AsDouble(object))
#else
#define DOUBLE_FROM(object) PyFloat_AsDouble(object)
#endif

static PyObject *inc_wrapper(PyObject *module, PyObject *arg) {
  (void)module;
  long x = PyLong_AsLong(arg);
  if (x == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(inc(x));
}

static PyObject *add_wrapper(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (nargs != 2) {
    PyErr_Format(PyExc_TypeError, "add() takes exactly 2 arguments (%zd given)", nargs);
    return NULL;
  }
  double x = DOUBLE_FROM(args[0]);
  if (x == -1.0 && PyErr_Occurred()) return NULL;
  double y = DOUBLE_FROM(args[1]);
  if (y == -1.0 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(add(x, y));
}

static PyObject *mix_wrapper(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (nargs != 4) {
    PyErr_Format(PyExc_TypeError, "mix() takes exactly 4 arguments (%zd given)", nargs);
    return NULL;
  }
  double x = DOUBLE_FROM(args[0]);
  if (x == -1.0 && PyErr_Occurred()) return NULL;
  long m = PyLong_AsLong(args[1]);
  if (m == -1 && PyErr_Occurred()) return NULL;
  double y = DOUBLE_FROM(args[2]);
  if (y == -1.0 && PyErr_Occurred()) return NULL;
  long n = PyLong_AsLong(args[3]);
  if (n == -1 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(mix(x, m, y, n));
}

static PyMethodDef methods[] = {
    {"inc", inc_wrapper, METH_O, NULL},
    {"add", (PyCFunction)(void (*)(void))add_wrapper, METH_FASTCALL, NULL},
    {"mix", (PyCFunction)(void (*)(void))mix_wrapper, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define INIT_OF(name) PyInit_##name
#define INIT(name) INIT_OF(name)

static PyModuleDef_Slot slots[] = {{0, NULL}};

static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = TEXT(MODULE_NAME),
                                 .m_methods = methods,
                                 .m_slots = slots};

PyMODINIT_FUNC INIT(MODULE_NAME)(void) { return PyModuleDef_Init(&definition); }
