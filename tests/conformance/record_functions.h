// C functions for records. The Python callables return different values, to show which was called.
#ifndef TYPEDCALL_TESTS_CONFORMANCE_RECORD_FUNCTIONS_H_
#define TYPEDCALL_TESTS_CONFORMANCE_RECORD_FUNCTIONS_H_

#include <Python.h>
// After Python.h.
#include <string.h>

static double half(double x) { return x / 2; }
double elsewhere(double x);  // in a shared object on which this module depends
static double third(double x) { return x / 3; }
static float half_f(float x) { return x / 2; }
static double add(double x, double y) { return x + y; }
static long next(long x) { return x + 1; }
static signed char next_b(signed char x) { return (signed char)(x + 1); }
static unsigned char next_B(unsigned char x) { return (unsigned char)(x + 1); }
static unsigned long next_L(unsigned long x) { return x + 1; }
static double seven(void) { return 7; }
static void nothing(double x) { (void)x; }
static _Bool is_positive(double x) { return x > 0; }
static PyObject *same(PyObject *object) {
  Py_INCREF(object);
  return object;
}

static double total(const double *first, Py_ssize_t count) {
  double sum = 0;
  for (Py_ssize_t i = 0; i < count; ++i) sum += first[i];
  return sum;
}
static Py_ssize_t length(const char *text, Py_ssize_t size) {
  (void)text;
  return size;
}
static double square_there(double *place) { return *place *= *place; }

// Functions that may raise. They return the error value, with or without an exception set.
static int Refuses(double x) {
  if (x < 100) return 0;
  PyErr_SetString(PyExc_ValueError, "too large");
  return 1;
}
static double minus(double x) { return Refuses(x) ? -1 : -x; }
static double minus_zero(double x) { return Refuses(x) ? -0.0 : -x; }
static long minus_l(long x) { return Refuses((double)x) ? -1 : -x; }
static unsigned char minus_B(unsigned char x) { return Refuses(x) ? 255 : (unsigned char)-x; }
static float minus_f(float x) { return Refuses((double)x) ? -1 : -x; }
static PyObject *same_or_null(PyObject *object) {
  if (object == Py_None) {
    PyErr_SetString(PyExc_ValueError, "None");
    return NULL;
  }
  return same(object);
}

// Functions that return a status or fall back.
static int thrice(double x, double *place) {
  if (Refuses(x)) return -7;
  *place = 3 * x;
  return 0;
}
// The register has more than the int.
static int thrice_with_garbage(double x, double *place) {
  long status = (long)thrice(x, place) | (long)(1ULL << (sizeof(long) * CHAR_BIT - 1));
  __asm__("" : "+r"(status));
  return (int)status;
}
static int two_arguments(double x, double y) { return x + y < 0; }
static int count_bytes(double x, const double *one) { return Refuses(x + *one) ? 1 : 0; }
static int no_place(double x) { return Refuses(x) ? 1 : 0; }
static int even(long x, long *place) {
  if (x % 2 != 0) return 2;
  *place = x / 2;
  return 0;
}
static int only_small(double x) { return x < 100 ? 0 : -1; }

// Functions for objects. A result is a new reference, an argument is not.
static int same_there(PyObject *object, PyObject **place) {
  *place = same(object);
  return 0;
}
static int never(PyObject *object, PyObject **place) {
  (void)object, (void)place;
  return 1;
}

// Functions that depend on the thread state. They return -1 if it is not the one that the flags
// promise.
static int IsAttached(void) {
#ifndef PYPY_VERSION
  return PyGILState_Check();
#else
  return 1;
#endif
}
// Returns -1 if another thread is in the function.
static double alone(double x) {
  static int running;
  int most = __atomic_add_fetch(&running, 1, __ATOMIC_ACQ_REL);
  for (int i = 0; i < 20 && most < 2; ++i) {
    usleep(1000);
    most = __atomic_load_n(&running, __ATOMIC_ACQUIRE);
  }
  __atomic_sub_fetch(&running, 1, __ATOMIC_ACQ_REL);
  return most < 2 ? 4 * x : -1;
}
static double attached(double x) { return IsAttached() ? 4 * x : -1; }
static double takes_gil(double x) {
  if (IsAttached()) return -1;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyGILState_Release(state);
  return 4 * x;
}
static double lets_go(double x) {
  if (!IsAttached()) return -1;
  PyThreadState *state = PyEval_SaveThread();
  PyEval_RestoreThread(state);
  return 4 * x;
}
static double lets_go_and_raises(double x) { return Refuses(lets_go(x)) ? -1 : 4 * x; }
static int even_detached(long x, long *place) {
  *place = -1;
  return IsAttached() ? 0 : even(x, place);
}

// Functions of buffers.
static double negate(double *first, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) first[i] = -first[i];
  return count > 0 ? first[0] : 0;
}
static double total_aligned(const double *first, Py_ssize_t count) {
  return (uintptr_t)(const void *)first % _Alignof(double) == 0 ? total(first, count) : -1;
}
// Tries to move an array's memory during a call. Returns -1 if that succeeds.
static double moves(PyObject *array, const double *first, Py_ssize_t count) {
  const double sum = total(first, count);
  PyObject *done = PyObject_CallMethod(array, "extend", "O", array);
  if (done == NULL) PyErr_Clear();
  Py_XDECREF(done);
  return done == NULL ? sum : -1;
}
static double moves_there(PyObject *array, const double *first) { return moves(array, first, 1); }

static const char *no_text(double x) {
  (void)x;
  return NULL;
}
static const char *a_text(double x) {
  (void)x;
  return "a text";
}

// Functions that take self.
static double with_self(PyObject *self, double x) { return self != NULL ? 4 * x : -1; }
static double self_is_module(PyObject *self, double x) { return PyModule_Check(self) ? 4 * x : -1; }
static double self_is_bound(PyObject *self, double x) {
  return strcmp(Py_TYPE(self)->tp_name, "conformance.Methods") == 0 ? 4 * x : -1;
}
// True if self has a type, or is a class, with this name.
static int IsOf(PyObject *self, const char *name) {
  PyTypeObject *type = PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
  return strcmp(type->tp_name, name) == 0;
}
static double self_is_class(PyObject *self, double x) {
  return PyType_Check(self) && IsOf(self, "conformance.Methods") ? 4 * x : -1;
}
static double self_is_a_class(PyObject *self, double x) { return PyType_Check(self) ? 4 * x : -1; }
static double self_is_subtype(PyObject *self, double x) {
  return IsOf(self, "conformance.Subtype") ? 4 * x : -1;
}
static double self_is_method(PyObject *self, double x) { return IsOf(self, "method") ? 4 * x : -1; }
static double self_is_function(PyObject *self, double x) {
  return IsOf(self, "function") ? 4 * x : -1;
}
static int even_of_self(PyObject *self, long x, long *place) {
  return self != NULL ? even(x, place) : -1;
}
#ifndef PYPY_VERSION
static double self_is_instance(PyObject *self, double x) {
  return Py_TYPE(self)->tp_basicsize >= (Py_ssize_t)sizeof(Instance)
             ? ((Instance *)self)->factor * x
             : -1;
}
#else
#define self_is_instance with_self
#endif

#endif  // TYPEDCALL_TESTS_CONFORMANCE_RECORD_FUNCTIONS_H_
