// The module of wrapper_cost.py with hand-written wrappers. They make the same checks as the
// generated wrappers.
#include <Python.h>

static long inc_native(long x) { return (long)((unsigned long)x + 1u); }
static double add_native(double x, double y) { return x + y; }
static double mix_native(double a, long i, double b, long j) {
  return a * (double)i + b * (double)j;
}

static PyObject *inc(PyObject *module, PyObject *arg) {
  (void)module;
  long x = PyLong_AsLong(arg);
  if (x == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(inc_native(x));
}

static int check_count(const char *name, Py_ssize_t nargs, Py_ssize_t wanted) {
  if (nargs == wanted) return 1;
  PyErr_Format(PyExc_TypeError, "%s() takes exactly %zd arguments (%zd given)", name, wanted,
               nargs);
  return 0;
}

static PyObject *add(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (!check_count("add", nargs, 2)) return NULL;
  double x = PyFloat_AsDouble(args[0]);
  if (x == -1.0 && PyErr_Occurred()) return NULL;
  double y = PyFloat_AsDouble(args[1]);
  if (y == -1.0 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(add_native(x, y));
}

static PyObject *mix(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (!check_count("mix", nargs, 4)) return NULL;
  double a = PyFloat_AsDouble(args[0]);
  if (a == -1.0 && PyErr_Occurred()) return NULL;
  long i = PyLong_AsLong(args[1]);
  if (i == -1 && PyErr_Occurred()) return NULL;
  double b = PyFloat_AsDouble(args[2]);
  if (b == -1.0 && PyErr_Occurred()) return NULL;
  long j = PyLong_AsLong(args[3]);
  if (j == -1 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(mix_native(a, i, b, j));
}

static PyMethodDef methods[] = {
    {"inc", inc, METH_O, NULL},
    {"add", (PyCFunction)(void (*)(void))add, METH_FASTCALL, NULL},
    {"mix", (PyCFunction)(void (*)(void))mix, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "wrapper_cost_module", .m_methods = methods};

PyMODINIT_FUNC PyInit_wrapper_cost_module(void) { return PyModule_Create(&definition); }
