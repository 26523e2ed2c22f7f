// A module with functions and methods of every calling convention except METH_METHOD, in the common
// subset of C99 and C++11. The including file must define PROVIDER_NAME.
#ifndef TYPEDCALL_TESTS_C_PROVIDER_C_PROVIDER_H_
#define TYPEDCALL_TESTS_C_PROVIDER_C_PROVIDER_H_

#include "typedcall/tag.h"

#define NAME_TEXT_(name) #name
#define NAME_TEXT(name) NAME_TEXT_(name)
#define INIT_(name) PyInit_##name
#define INIT(name) INIT_(name)
#define ANY(function) ((PyCFunction)(void (*)(void))(function))

// --- The C functions -----------------------------------------------------------------------------

static long answer_of(void) { return 42; }
static long twice_of(long x) { return (long)(2 * (unsigned long)x); }
static double twice_double_of(double x) { return 2 * x; }
static long plus_of(long x, long y) { return (long)((unsigned long)x + (unsigned long)y); }

// If no exception is set, -1 is an ordinary result.
static long positive_of(long x) {
  if (x < -1) PyErr_SetString(PyExc_ValueError, "neither positive nor -1");
  return x < -1 ? -1 : x;
}

// --- Their wrappers ------------------------------------------------------------------------------
// A buffer is one argument in Python and two in C.
static double norm_of(const double *all, Py_ssize_t count) {
  double sum = 0;
  Py_ssize_t i;
  for (i = 0; i < count; ++i) sum += all[i] * all[i];
  return sum;
}

static PyObject *boxed_norm(PyObject *self, PyObject *array) {
  Py_buffer view;
  PyObject *result = NULL;
  (void)self;
  if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return NULL;
  if (view.ndim == 1 && view.format != NULL && strcmp(view.format, "d") == 0) {
    result = PyFloat_FromDouble(
        norm_of((const double *)view.buf, view.len / (Py_ssize_t)sizeof(double)));
  } else {
    PyErr_SetString(PyExc_TypeError, "norm() takes an array of doubles");
  }
  PyBuffer_Release(&view);
  return result;
}

static PyObject *boxed_answer(PyObject *self, PyObject *nothing) {
  (void)self, (void)nothing;
  return PyLong_FromLong(answer_of());
}

static PyObject *boxed_twice(PyObject *self, PyObject *x) {
  (void)self;
  if (PyFloat_Check(x)) return PyFloat_FromDouble(twice_double_of(PyFloat_AS_DOUBLE(x)));
  const long value = PyLong_AsLong(x);
  return value == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(twice_of(value));
}

static PyObject *boxed_positive(PyObject *self, PyObject *x) {
  (void)self;
  const long value = PyLong_AsLong(x);
  if (value == -1 && PyErr_Occurred()) return NULL;
  const long result = positive_of(value);
  return result == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(result);
}

static PyObject *boxed_plus(PyObject *self, PyObject *args) {
  long x, y;
  (void)self;
  return PyArg_ParseTuple(args, "ll", &x, &y) ? PyLong_FromLong(plus_of(x, y)) : NULL;
}

static PyObject *boxed_plus_named(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char x_name[] = "x", y_name[] = "y";
  static char *names[] = {x_name, y_name, NULL};
  long x, y = 1;
  (void)self;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "l|l", names, &x, &y)) return NULL;
  return PyLong_FromLong(plus_of(x, y));
}

static PyObject *boxed_plus_fast(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
  (void)self;
  if (nargs != 2) return PyErr_Format(PyExc_TypeError, "two arguments, not %zd", nargs);
  const long x = PyLong_AsLong(args[0]);
  const long y = x == -1 && PyErr_Occurred() ? 0 : PyLong_AsLong(args[1]);
  return PyErr_Occurred() ? NULL : PyLong_FromLong(plus_of(x, y));
}

static PyObject *boxed_plus_fast_named(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                       PyObject *names) {
  // This function ignores the names of its arguments.
  return boxed_plus_fast(self, args, nargs + (names != NULL ? PyTuple_GET_SIZE(names) : 0));
}

// --- Functions of the module ---------------------------------------------------------------------

#define PURE PyNativeCallable_PURE
#define RAISES (PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD)

PyTypedMethod_DEFINE_PYPY(answer_typed, "answer", {-1}, T_C_LONG, answer_of,
                          PyTypedMethod_ENTRY(PURE, answer_of, LONG));
PyTypedMethod_DEFINE(twice_typed, "twice", PyTypedMethod_ENTRY(PURE, twice_of, LONG, LONG),
                     PyTypedMethod_ENTRY(PURE, twice_double_of, DOUBLE, DOUBLE));
PyTypedMethod_DEFINE(positive_typed, "positive",
                     PyTypedMethod_ENTRY(RAISES, positive_of, LONG, LONG));
PyTypedMethod_DEFINE(norm_typed, "norm", {"*kd->d", PURE, (void *)norm_of});
#define DEFINE_PLUS(variable, name) \
  PyTypedMethod_DEFINE(variable, name, PyTypedMethod_ENTRY(PURE, plus_of, LONG, LONG, LONG))
DEFINE_PLUS(plus_typed, "plus");
DEFINE_PLUS(plus_named_typed, "plus_named");
DEFINE_PLUS(plus_fast_typed, "plus_fast");
DEFINE_PLUS(plus_fast_named_typed, "plus_fast_named");

static PyMethodDef functions[] = {
    PyTypedMethod_METHOD_DEF(answer_typed, boxed_answer, METH_NOARGS,
                             "answer($module, /)\n--\n\n42."),
    PyTypedMethod_METHOD_DEF(twice_typed, boxed_twice, METH_O, "twice($module, x, /)\n--\n\n2 x."),
    PyTypedMethod_METHOD_DEF(positive_typed, boxed_positive, METH_O, NULL),
    PyTypedMethod_METHOD_DEF(plus_typed, boxed_plus, METH_VARARGS, NULL),
    PyTypedMethod_METHOD_DEF(plus_named_typed, boxed_plus_named, METH_VARARGS | METH_KEYWORDS,
                             NULL),
    PyTypedMethod_METHOD_DEF(plus_fast_typed, boxed_plus_fast, METH_FASTCALL, NULL),
    PyTypedMethod_METHOD_DEF(plus_fast_named_typed, boxed_plus_fast_named,
                             METH_FASTCALL | METH_KEYWORDS, NULL),
    PyTypedMethod_METHOD_DEF(norm_typed, boxed_norm, METH_O, NULL),
    {"untyped", boxed_twice, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static const PyTypedMethodMetadata *const typed_functions[] = {
    &answer_typed,    &twice_typed,           &positive_typed, &plus_typed, &plus_named_typed,
    &plus_fast_typed, &plus_fast_named_typed, &norm_typed,     NULL};

// --- Methods of a type ---------------------------------------------------------------------------

typedef struct {
  PyObject_HEAD
  long total;
} Counter;

static long total_of(PyObject *self) { return ((Counter *)self)->total; }
static long add_of(PyObject *self, long x) {
  Counter *counter = (Counter *)self;
  return counter->total = plus_of(counter->total, x);
}

static PyObject *counter_total(PyObject *self, PyObject *nothing) {
  (void)nothing;
  return PyLong_FromLong(total_of(self));
}

static PyObject *counter_add(PyObject *self, PyObject *x) {
  const long value = PyLong_AsLong(x);
  return value == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(add_of(self, value));
}

PyTypedMethod_DEFINE(total_typed, "total", PyTypedMethod_ENTRY_WITH_SELF(0, total_of, LONG));
PyTypedMethod_DEFINE(add_typed, "add", PyTypedMethod_ENTRY_WITH_SELF(0, add_of, LONG, LONG));
PyTypedMethod_DEFINE(of_class_typed, "of_class", PyTypedMethod_ENTRY(PURE, answer_of, LONG));
DEFINE_PLUS(of_nobody_typed, "of_nobody");
DEFINE_PLUS(of_class_named_typed, "of_class_named");

// PyInit_* tags these methods in place.
static PyMethodDef methods[] = {
    {"total", counter_total, METH_NOARGS, "total($self, /)\n--\n\nThe sum."},
    {"add", counter_add, METH_O, NULL},
    {"of_class", boxed_answer, METH_NOARGS | METH_CLASS, NULL},
    {"of_class_named", ANY(boxed_plus_fast_named), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     NULL},
    {"of_nobody", ANY(boxed_plus_fast), METH_FASTCALL | METH_STATIC, NULL},
    {"untyped", counter_add, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static const PyTypedMethodMetadata *const typed_methods[] = {
    &total_typed, &add_typed, &of_class_typed, &of_class_named_typed, &of_nobody_typed, NULL};

static PyType_Slot counter_slots[] = {{Py_tp_methods, methods}, {0, NULL}};
static PyType_Spec counter_spec = {NAME_TEXT(PROVIDER_NAME) ".Counter", sizeof(Counter), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, counter_slots};

// Returns a new reference, or NULL with an exception set.
static PyObject *make_type(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  PyObject *type = PyType_FromSpec(&counter_spec);
  if (type != NULL && PyTypedMethod_AddTags(type, methods, typed_methods) < 0) Py_CLEAR(type);
  return type;
}
static PyMethodDef make_type_def = {"make_type", make_type, METH_NOARGS, NULL};

// --- The module ----------------------------------------------------------------------------------

static int exec(PyObject *module) {
  if (PyTypedMethod_AddTags(module, functions, typed_functions) < 0) return -1;
  PyObject *type = make_type(module, NULL);
  PyObject *maker = PyCFunction_New(&make_type_def, NULL);
  const int failed = type == NULL || maker == NULL ||
                     PyObject_SetAttrString(module, "Counter", type) < 0 ||
                     PyObject_SetAttrString(module, "make_type", maker) < 0;
  Py_XDECREF(type);
  Py_XDECREF(maker);
  return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)exec}, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    NAME_TEXT(PROVIDER_NAME),
    NULL,
    0,
    functions,
    module_slots,
    NULL,
    NULL,
    NULL,
};

PyTypedMethod_SIBLING(twice, functions[1], twice_typed);
PyTypedMethod_SIBLING(add, methods[1], add_typed);

PyMODINIT_FUNC INIT(PROVIDER_NAME)(void) {
  if (PyTypedMethod_TagArray(methods, typed_methods) < 0) return NULL;
  return PyModuleDef_Init(&definition);
}

#endif  // TYPEDCALL_TESTS_C_PROVIDER_C_PROVIDER_H_
