/* Typed functions made with the C macros. The wrappers and the C functions count their calls. */
#include "typedcall/tag.h"

static long native_calls = 0, boxed_calls = 0;

static long inc_c(long x) {
  ++native_calls;
  return (long)((unsigned long)x + 1);
}
static double add_c(double a, double b) {
  ++native_calls;
  return a + b;
}
static double mix_c(double a, long b, double c, long d) {
  ++native_calls;
  return a * (double)b + c * (double)d;
}
static short narrow_c(short x) {
  ++native_calls;
  return (short)-x;
}
static unsigned char byte_c(unsigned char x) {
  ++native_calls;
  return (unsigned char)(x ^ 1);
}
static unsigned long big_c(unsigned long x) {
  ++native_calls;
  return x - 1;
}
static long long longer_c(long long x) {
  ++native_calls;
  return x;
}
static int two_ints_c(int a, int b) {
  ++native_calls;
  return a ^ b;
}
static float single_c(float x) {
  ++native_calls;
  return x;
}
static bool truth_c(bool x) {
  ++native_calls;
  return !x;
}
static void nothing_c(int x) { native_calls += x == 0 ? 1 : x; }
static long none_c(void) { return ++native_calls; }
static long size_long_c(long x) {
  ++native_calls;
  return x + 100;
}
static double size_double_c(double x) {
  ++native_calls;
  return x + 200;
}
static double size_two_c(double x, long y) {
  ++native_calls;
  return x + (double)y + 300;
}
static int raises_c(long x) {
  ++native_calls;
  if (x >= 0) return 0;
  PyErr_SetString(PyExc_ValueError, "negative");
  return -1;
}
static PyObject *object_c(PyObject *x) {
  ++native_calls;
  Py_INCREF(x);
  return x;
}
static long mixed_long_c(long x) {
  ++native_calls;
  return x;
}

static PyObject *boxed(PyObject *result) {
  ++boxed_calls;
  return result;
}

/* Hand-written wrappers, with PyArg_Parse's rules and messages. */
#define WRAPPER(name, format, declare, call)                    \
  static PyObject *name(PyObject *module, PyObject *args) {     \
    declare;                                                    \
    (void)module;                                               \
    ++boxed_calls;                                              \
    if (!PyArg_ParseTuple(args, format, &a)) return NULL;       \
    --native_calls; /* the C function counts this call again */ \
    return call;                                                \
  }
WRAPPER(inc, "l:inc", long a, PyLong_FromLong(inc_c(a)))
WRAPPER(narrow, "h:narrow", short a, PyLong_FromLong(narrow_c(a)))
WRAPPER(byte, "b:byte", unsigned char a, PyLong_FromLong(byte_c(a)))
WRAPPER(longer, "L:longer", long long a, PyLong_FromLongLong(longer_c(a)))
WRAPPER(single, "f:single", float a, PyFloat_FromDouble((double)single_c(a)))

static PyObject *big(PyObject *module, PyObject *x) {
  ++boxed_calls;
  const unsigned long a = PyLong_AsUnsignedLong(x);
  if (a == (unsigned long)-1 && PyErr_Occurred()) return NULL;
  --native_calls;
  return PyLong_FromUnsignedLong(big_c(a));
}

static PyObject *add(PyObject *module, PyObject *args) {
  double a, b;
  ++boxed_calls;
  if (!PyArg_ParseTuple(args, "dd:add", &a, &b)) return NULL;
  --native_calls;
  return PyFloat_FromDouble(add_c(a, b));
}

static PyObject *mix(PyObject *module, PyObject *args, PyObject *keywords) {
  static char *names[] = {(char *)"a", (char *)"b", (char *)"c", (char *)"d", NULL};
  double a, c = 1;
  long b, d = 1;
  ++boxed_calls;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "dl|dl:mix", names, &a, &b, &c, &d)) {
    return NULL;
  }
  --native_calls;
  return PyFloat_FromDouble(mix_c(a, b, c, d));
}

static PyObject *two_ints(PyObject *module, PyObject *args) {
  int a, b;
  ++boxed_calls;
  if (!PyArg_ParseTuple(args, "ii:two_ints", &a, &b)) return NULL;
  --native_calls;
  return PyLong_FromLong(two_ints_c(a, b));
}

static PyObject *truth(PyObject *module, PyObject *x) {
  ++boxed_calls;
  const int value = PyObject_IsTrue(x);
  if (value < 0) return NULL;
  --native_calls;
  return PyBool_FromLong(truth_c(value == 1));
}

static PyObject *nothing(PyObject *module, PyObject *x) {
  const long value = PyLong_AsLong(x);
  if (value == -1 && PyErr_Occurred()) return boxed(NULL);
  ++boxed_calls;
  Py_RETURN_NONE;
}

static PyObject *none(PyObject *module, PyObject *unused) { return boxed(PyLong_FromLong(-1)); }

/* Chooses by the type of the argument, as overloads do. */
static PyObject *size(PyObject *module, PyObject *args) {
  double x;
  long y;
  ++boxed_calls;
  if (PyTuple_Size(args) == 2) {
    if (!PyArg_ParseTuple(args, "dl:size", &x, &y)) return NULL;
    return PyFloat_FromDouble(x + (double)y + 300);
  }
  PyObject *only;
  if (!PyArg_ParseTuple(args, "O:size", &only)) return NULL;
  if (PyLong_Check(only)) {
    y = PyLong_AsLong(only);
    return y == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(y + 100);
  }
  x = PyFloat_AsDouble(only);
  return x == -1 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(x + 200);
}

static PyObject *raises(PyObject *module, PyObject *x) {
  const long value = PyLong_AsLong(x);
  if (value == -1 && PyErr_Occurred()) return boxed(NULL);
  --native_calls;
  if (raises_c(value) != 0) return boxed(NULL);
  ++boxed_calls;
  Py_RETURN_NONE;
}

static PyObject *object(PyObject *module, PyObject *x) {
  Py_INCREF(x);
  return boxed(x);
}

static PyObject *counts(PyObject *module, PyObject *unused) {
  return Py_BuildValue("ll", native_calls, boxed_calls);
}

#define SIMPLE (PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE)
#define RAISES (PyNativeCallable_NEEDS_THREAD | PyNativeCallable_RETURNS_STATUS)
PyTypedMethod_DEFINE(inc_typed, "inc", PyTypedMethod_ENTRY(SIMPLE, inc_c, LONG, LONG));
PyTypedMethod_DEFINE(add_typed, "add", PyTypedMethod_ENTRY(SIMPLE, add_c, DOUBLE, DOUBLE, DOUBLE));
PyTypedMethod_DEFINE(mix_typed, "mix",
                     PyTypedMethod_ENTRY(SIMPLE, mix_c, DOUBLE, DOUBLE, LONG, DOUBLE, LONG));
PyTypedMethod_DEFINE(narrow_typed, "narrow", PyTypedMethod_ENTRY(SIMPLE, narrow_c, SHORT, SHORT));
PyTypedMethod_DEFINE(byte_typed, "byte", PyTypedMethod_ENTRY(SIMPLE, byte_c, UCHAR, UCHAR));
PyTypedMethod_DEFINE(big_typed, "big", PyTypedMethod_ENTRY(SIMPLE, big_c, ULONG, ULONG));
PyTypedMethod_DEFINE(longer_typed, "longer",
                     PyTypedMethod_ENTRY(SIMPLE, longer_c, LONGLONG, LONGLONG));
PyTypedMethod_DEFINE(two_ints_typed, "two_ints",
                     PyTypedMethod_ENTRY(SIMPLE, two_ints_c, INT, INT, INT));
PyTypedMethod_DEFINE(single_typed, "single", PyTypedMethod_ENTRY(SIMPLE, single_c, FLOAT, FLOAT));
PyTypedMethod_DEFINE(truth_typed, "truth", PyTypedMethod_ENTRY(SIMPLE, truth_c, BOOL, BOOL));
/* Functions that are not declared thread-safe. */
PyTypedMethod_DEFINE(nothing_typed, "nothing", PyTypedMethod_ENTRY(0, nothing_c, VOID, INT));
PyTypedMethod_DEFINE(none_typed, "none", PyTypedMethod_ENTRY(0, none_c, LONG));
PyTypedMethod_DEFINE(size_typed, "size", PyTypedMethod_ENTRY(SIMPLE, size_double_c, DOUBLE, DOUBLE),
                     PyTypedMethod_ENTRY(SIMPLE, size_two_c, DOUBLE, DOUBLE, LONG),
                     PyTypedMethod_ENTRY(SIMPLE, size_long_c, LONG, LONG));
PyTypedMethod_DEFINE(raises_typed, "raises", PyTypedMethod_ENTRY(RAISES, raises_c, INT, LONG));
/* The overload for any object comes first. */
PyTypedMethod_DEFINE(object_typed, "object",
                     PyTypedMethod_ENTRY(PyNativeCallable_NEEDS_THREAD, object_c, OBJECT, OBJECT),
                     PyTypedMethod_ENTRY(SIMPLE, mixed_long_c, LONG, LONG));

/* PyPy's own struct, without typedcall's fields before it. */
static int bare_codes[] = PyTypedMethod_CODES(T_C_LONG);
static const PyPyTypedMethodMetadata bare_typed = {bare_codes, T_C_LONG, (void *)inc_c, "bare"};

static PyMethodDef methods[] = {
    PyTypedMethod_METHOD_DEF(inc_typed, inc, METH_VARARGS, "inc($module, x, /)\n--\n\nAdd one."),
    PyTypedMethod_METHOD_DEF(add_typed, add, METH_VARARGS, NULL),
    PyTypedMethod_METHOD_DEF(mix_typed, mix, METH_VARARGS | METH_KEYWORDS,
                             "mix($module, /, a, b, c=1.0, d=1)\n--\n\nMix."),
    PyTypedMethod_METHOD_DEF(narrow_typed, narrow, METH_VARARGS, NULL),
    PyTypedMethod_METHOD_DEF(byte_typed, byte, METH_VARARGS, NULL),
    PyTypedMethod_METHOD_DEF(big_typed, big, METH_O, NULL),
    PyTypedMethod_METHOD_DEF(longer_typed, longer, METH_VARARGS, NULL),
    PyTypedMethod_METHOD_DEF(two_ints_typed, two_ints, METH_VARARGS, NULL),
    PyTypedMethod_METHOD_DEF(single_typed, single, METH_VARARGS, NULL),
    PyTypedMethod_METHOD_DEF(truth_typed, truth, METH_O, NULL),
    PyTypedMethod_METHOD_DEF(nothing_typed, nothing, METH_O, NULL),
    PyTypedMethod_METHOD_DEF(none_typed, none, METH_NOARGS, NULL),
    PyTypedMethod_METHOD_DEF(raises_typed, raises, METH_O, NULL),
    PyTypedMethod_METHOD_DEF(object_typed, object, METH_O, NULL),
    {bare_typed.ml_name, nothing, METH_O | METH_TYPED, NULL},
    {"size", size, METH_VARARGS, "Tagged in place."},
    {"counts", counts, METH_NOARGS, "(native, boxed) calls so far."},
    {NULL, NULL, 0, NULL}};
static const PyTypedMethodMetadata *const typed[] = {
    &inc_typed,     &add_typed,    &mix_typed,      &narrow_typed, &byte_typed,
    &big_typed,     &longer_typed, &two_ints_typed, &single_typed, &truth_typed,
    &nothing_typed, &none_typed,   &raises_typed,   &object_typed, NULL};
static const PyTypedMethodMetadata *const tagged_in_place[] = {&size_typed, NULL};

static int exec(PyObject *module) {
  if (PyTypedMethod_AddTags(module, methods, tagged_in_place) < 0) return -1;
  return PyTypedMethod_AddTags(module, methods, typed);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec}, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "pypy_functions", "They count.", 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_pypy_functions(void) {
  if (PyTypedMethod_TagArray(methods, tagged_in_place) < 0) return NULL;
  return PyModuleDef_Init(&definition);
}
