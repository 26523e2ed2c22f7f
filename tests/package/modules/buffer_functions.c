/* Functions that take buffers, with hand-written wrappers. The module's `addresses` contains the
 * addresses of the C functions. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>

#include "../../support/c_module.h"
#include "addresses.h"

static double norm(const double *x, Py_ssize_t n) {
  double sum = 0;
  for (Py_ssize_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sqrt(sum);
}
static double dot(const double *x, Py_ssize_t n, const double *y, Py_ssize_t m) {
  double sum = 0;
  for (Py_ssize_t i = 0; i < n && i < m; ++i) sum += x[i] * y[i];
  return sum;
}
static double power(const double *x, Py_ssize_t n, double p) {
  double sum = 0;
  for (Py_ssize_t i = 0; i < n; ++i) sum += pow(fabs(x[i]), p);
  return sum;
}
static double times(const double *x, Py_ssize_t n, int k) { return k * norm(x, n); }
static void twice(const double *x, Py_ssize_t n, double *y, Py_ssize_t m) {
  for (Py_ssize_t i = 0; i < n && i < m; ++i) y[i] = 2 * x[i];
}
static double normalise(double *x, Py_ssize_t n) {
  const double length = norm(x, n);
  for (Py_ssize_t i = 0; i < n; ++i) x[i] /= length;
  return length;
}
static uint64_t hash(const uint8_t *x, Py_ssize_t n) {
  uint64_t made = UINT64_C(1469598103934665603);
  for (Py_ssize_t i = 0; i < n; ++i) made = (made ^ x[i]) * UINT64_C(1099511628211);
  return made;
}
static long total(const long *x, Py_ssize_t n) {
  unsigned long sum = 0;
  for (Py_ssize_t i = 0; i < n; ++i) sum += (unsigned long)x[i];
  return (long)sum;
}
static float largest(const float *x, Py_ssize_t n) {
  float most = 0;
  for (Py_ssize_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}
static void negate(int *x, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) x[i] = (int)-(unsigned)x[i];
}
/* Three ways to report an empty buffer. */
static double mean(const double *x, Py_ssize_t n) {
  double sum = 0;
  if (n == 0) {
    PyErr_SetString(PyExc_ValueError, "no mean of nothing");
    return -1.0;
  }
  for (Py_ssize_t i = 0; i < n; ++i) sum += x[i];
  return sum / (double)n;
}
static int mean_or_status(const double *x, Py_ssize_t n, double *result) {
  *result = mean(x, n);
  return n == 0 ? -1 : 0;
}
static int mean_or_fall_back(const double *x, Py_ssize_t n, double *result) {
  if (n == 0) return 1;
  *result = mean(x, n);
  return 0;
}
static Py_ssize_t utf8_length(const char *text, Py_ssize_t n) { return text[n] == '\0' ? n : -1; }

/* Gets a contiguous one-dimensional buffer in one of the `formats`. */
static int take(PyObject *object, const char *formats, Py_ssize_t size, int flags,
                Py_buffer *view) {
  const char *format;
  view->obj = NULL;
  if (!PyObject_CheckBuffer(object)) {
    PyErr_SetString(PyExc_TypeError, "a buffer is needed");
    return -1;
  }
  if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | flags) < 0) {
    view->obj = NULL;
    return -1;
  }
  format = view->format != NULL ? view->format : "B";
  if (strchr("@=<", format[0]) != NULL) ++format;
  if (view->itemsize != size || format[0] == '\0' || format[1] != '\0' ||
      strchr(formats, format[0]) == NULL) {
    PyErr_SetString(PyExc_TypeError, "other items");
  } else if (view->ndim != 1) {
    PyErr_SetString(PyExc_ValueError, "other dimensions");
  } else if (view->len != 0 && (uintptr_t)view->buf % (uintptr_t)size != 0) {
    PyErr_SetString(PyExc_ValueError, "not aligned");
  } else {
    return 0;
  }
  PyBuffer_Release(view);
  view->obj = NULL;
  return -1;
}

static int read_int(PyObject *object, int *value) {
  PyObject *integer = PyNumber_Index(object);
  const long wide = integer != NULL ? PyLong_AsLong(integer) : -1;
  Py_XDECREF(integer);
  if (wide == -1 && PyErr_Occurred()) return -1;
  if (wide < INT_MIN || wide > INT_MAX) {
    PyErr_SetString(PyExc_OverflowError, "too large");
    return -1;
  }
  *value = (int)wide;
  return 0;
}

#define WITH_ONE(NAME, TYPE, FORMATS, FLAGS, RESULT)                        \
  static PyObject *NAME##_py(PyObject *self, PyObject *object) {            \
    Py_buffer view;                                                         \
    PyObject *result;                                                       \
    (void)self;                                                             \
    if (take(object, FORMATS, sizeof(TYPE), FLAGS, &view) < 0) return NULL; \
    {                                                                       \
      TYPE *x = view.buf;                                                   \
      const Py_ssize_t n = view.len / view.itemsize;                        \
      result = RESULT;                                                      \
    }                                                                       \
    PyBuffer_Release(&view);                                                \
    return result;                                                          \
  }

static PyObject *none_after(int ignored) { Py_RETURN_NONE; }
static PyObject *float_or_error(double value) {
  return PyErr_Occurred() ? NULL : PyFloat_FromDouble(value);
}

WITH_ONE(norm, double, "d", 0, PyFloat_FromDouble(norm(x, n)))
WITH_ONE(normalise, double, "d", PyBUF_WRITABLE, PyFloat_FromDouble(normalise(x, n)))
WITH_ONE(hash, uint8_t, "Bc", 0, PyLong_FromUnsignedLongLong(hash(x, n)))
WITH_ONE(total, long, "lqn", 0, PyLong_FromLong(total(x, n)))
WITH_ONE(largest, float, "f", 0, PyFloat_FromDouble(largest(x, n)))
WITH_ONE(negate, int, "il", PyBUF_WRITABLE, none_after((negate(x, n), 0)))
WITH_ONE(mean, double, "d", 0, float_or_error(mean(x, n)))
#define mean_or_status_py mean_py
#define mean_or_fall_back_py mean_py

static PyObject *dot_py(PyObject *self, PyObject *args) {
  PyObject *one, *other, *result = NULL;
  Py_buffer x, y;
  if (!PyArg_ParseTuple(args, "OO:dot", &one, &other)) return NULL;
  if (take(one, "d", sizeof(double), 0, &x) < 0) return NULL;
  if (take(other, "d", sizeof(double), 0, &y) == 0) {
    result = PyFloat_FromDouble(dot(x.buf, x.len / 8, y.buf, y.len / 8));
    PyBuffer_Release(&y);
  }
  PyBuffer_Release(&x);
  return result;
}

static PyObject *twice_py(PyObject *self, PyObject *args) {
  PyObject *one, *other, *result = NULL;
  Py_buffer x, y;
  if (!PyArg_ParseTuple(args, "OO:twice", &one, &other)) return NULL;
  if (take(one, "d", sizeof(double), 0, &x) < 0) return NULL;
  if (take(other, "d", sizeof(double), PyBUF_WRITABLE, &y) == 0) {
    twice(x.buf, x.len / 8, y.buf, y.len / 8);
    result = none_after(0);
    PyBuffer_Release(&y);
  }
  PyBuffer_Release(&x);
  return result;
}

static PyObject *power_py(PyObject *self, PyObject *args) {
  PyObject *one, *result = NULL, *number;
  Py_buffer x;
  if (!PyArg_ParseTuple(args, "OO:power", &one, &number)) return NULL;
  if (take(one, "d", sizeof(double), 0, &x) < 0) return NULL;
  {
    const double p = PyFloat_AsDouble(number);
    if (p != -1 || !PyErr_Occurred()) result = PyFloat_FromDouble(power(x.buf, x.len / 8, p));
  }
  PyBuffer_Release(&x);
  return result;
}

static PyObject *times_py(PyObject *self, PyObject *args) {
  PyObject *one, *result = NULL, *number;
  Py_buffer x;
  int k;
  if (!PyArg_ParseTuple(args, "OO:times", &one, &number)) return NULL;
  if (take(one, "d", sizeof(double), 0, &x) < 0) return NULL;
  if (read_int(number, &k) == 0) result = PyFloat_FromDouble(times(x.buf, x.len / 8, k));
  PyBuffer_Release(&x);
  return result;
}

static PyObject *utf8_length_py(PyObject *self, PyObject *object) {
  Py_ssize_t length;
  const char *text;
  if (!PyUnicode_Check(object)) return PyErr_Format(PyExc_TypeError, "a str is needed");
  text = PyUnicode_AsUTF8AndSize(object, &length);
  return text != NULL ? PyLong_FromSsize_t(utf8_length(text, length)) : NULL;
}

#define FUNCTIONS(X)           \
  X(norm, METH_O)              \
  X(normalise, METH_O)         \
  X(hash, METH_O)              \
  X(total, METH_O)             \
  X(largest, METH_O)           \
  X(negate, METH_O)            \
  X(mean, METH_O)              \
  X(mean_or_status, METH_O)    \
  X(mean_or_fall_back, METH_O) \
  X(dot, METH_VARARGS)         \
  X(twice, METH_VARARGS)       \
  X(power, METH_VARARGS)       \
  X(times, METH_VARARGS)       \
  X(utf8_length, METH_O)

#define METHOD(NAME, FLAGS) {#NAME, NAME##_py, FLAGS, NULL},
static PyMethodDef methods[] = {FUNCTIONS(METHOD){NULL, NULL, 0, NULL}};

static int exec(PyObject *module) {
  PyObject *addresses = PyDict_New();
#define PUT(NAME, FLAGS) || put(addresses, #NAME, (void *)NAME) < 0
  const int failed = addresses == NULL FUNCTIONS(PUT) ||
                     PyObject_SetAttrString(module, "addresses", addresses) < 0;
  Py_XDECREF(addresses);
  return failed ? -1 : 0;
}

TEST_MODULE_EXEC(buffer_functions, methods, exec)
