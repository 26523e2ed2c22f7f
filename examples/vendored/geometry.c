// A provider in plain C that needs one copied file, typedcall_provider.h. The functions and methods
// have hand-written wrappers.
#include "typedcall_provider.h"

// --- Module functions ----------------------------------------------------------------------------

static long gcd_of(long a, long b) {
  unsigned long x = a < 0 ? 0 - (unsigned long)a : (unsigned long)a;
  unsigned long y = b < 0 ? 0 - (unsigned long)b : (unsigned long)b;
  while (y != 0) {
    const unsigned long rest = x % y;
    x = y;
    y = rest;
  }
  return (long)x;
}

static PyObject *gcd(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (nargs != 2) return PyErr_Format(PyExc_TypeError, "gcd() takes two ints (%zd given)", nargs);
  const long a = PyLong_AsLong(args[0]);
  if (a == -1 && PyErr_Occurred()) return NULL;
  const long b = PyLong_AsLong(args[1]);
  if (b == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(gcd_of(a, b));
}

static double clamp_to(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

static PyObject *clamp(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {(char *)"x", (char *)"low", (char *)"high", NULL};
  double x, low = 0.0, high = 1.0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "d|dd", names, &x, &low, &high)) return NULL;
  return PyFloat_FromDouble(clamp_to(x, low, high));
}

// PyTypedMethod_ENTRY makes the signature "ll->l", and checks the types.
PyTypedMethod_DEFINE(gcd_typed, "gcd",
                     PyTypedMethod_ENTRY(PyNativeCallable_PURE, gcd_of, LONG, LONG, LONG));
// Python callers may omit arguments. Callers of the C function must pass all arguments.
PyTypedMethod_DEFINE(clamp_typed, "clamp",
                     PyTypedMethod_ENTRY(PyNativeCallable_PURE, clamp_to, DOUBLE, DOUBLE, DOUBLE,
                                         DOUBLE));

static PyMethodDef functions[] = {
    PyTypedMethod_METHOD_DEF(gcd_typed, gcd, METH_FASTCALL, "gcd($module, a, b, /)\n--\n\n"),
    PyTypedMethod_METHOD_DEF(clamp_typed, clamp, METH_VARARGS | METH_KEYWORDS,
                             "clamp($module, x, low=0.0, high=1.0)\n--\n\n"),
    {NULL, NULL, 0, NULL},
};

// --- Methods of a type ---------------------------------------------------------------------------

typedef struct {
  PyObject_HEAD
  double slope, intercept;
} Line;

static PyObject *line_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  double slope, intercept;
  if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
    return PyErr_Format(PyExc_TypeError, "Line() takes no keyword arguments");
  }
  if (!PyArg_ParseTuple(args, "dd:Line", &slope, &intercept)) return NULL;
  Line *line = (Line *)type->tp_alloc(type, 0);
  if (line == NULL) return NULL;
  line->slope = slope;
  line->intercept = intercept;
  return (PyObject *)line;
}

static void line_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// The first argument is self, whose type the caller has checked.
static double line_at_of(PyObject *self, double x) {
  const Line *line = (const Line *)self;
  return line->slope * x + line->intercept;
}

static PyObject *line_at(PyObject *self, PyObject *argument) {
  const double x = PyFloat_AsDouble(argument);
  if (x == -1.0 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(line_at_of(self, x));
}

static double slope_of(double x0, double y0, double x1, double y1) { return (y1 - y0) / (x1 - x0); }

static PyObject *slope(PyObject *nothing, PyObject *const *args, Py_ssize_t nargs) {
  double xy[4];
  (void)nothing;
  if (nargs != 4)
    return PyErr_Format(PyExc_TypeError, "slope() takes 4 numbers (%zd given)", nargs);
  for (int i = 0; i < 4; ++i) {
    xy[i] = PyFloat_AsDouble(args[i]);
    if (xy[i] == -1.0 && PyErr_Occurred()) return NULL;
  }
  return PyFloat_FromDouble(slope_of(xy[0], xy[1], xy[2], xy[3]));
}

PyTypedMethod_DEFINE(at_typed, "at", PyTypedMethod_ENTRY_WITH_SELF(0, line_at_of, DOUBLE, DOUBLE));
PyTypedMethod_DEFINE(slope_typed, "slope",
                     PyTypedMethod_ENTRY(PyNativeCallable_PURE, slope_of, DOUBLE, DOUBLE, DOUBLE,
                                         DOUBLE, DOUBLE));

// An array from a code generator, tagged in place below.
static PyMethodDef line_methods[] = {
    {"at", line_at, METH_O, "at($self, x, /)\n--\n\n"},
    {"slope", (PyCFunction)(void (*)(void))slope, METH_FASTCALL | METH_STATIC,
     "slope(x0, y0, x1, y1, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot line_slots[] = {
    {Py_tp_new, (void *)line_new},
    {Py_tp_dealloc, (void *)line_dealloc},
    {Py_tp_methods, line_methods},
    {0, NULL},
};
static PyType_Spec line_spec = {"geometry.Line", sizeof(Line), 0, Py_TPFLAGS_DEFAULT, line_slots};

// --- The module ----------------------------------------------------------------------------------

static const PyTypedMethodMetadata *const typed_functions[] = {&gcd_typed, &clamp_typed, NULL};
static const PyTypedMethodMetadata *const typed_methods[] = {&at_typed, &slope_typed, NULL};

static int exec(PyObject *module) {
  if (PyTypedMethod_AddTags(module, functions, typed_functions) < 0) return -1;
  PyObject *line = PyType_FromModuleAndSpec(module, &line_spec, NULL);
  // The type has the methods, so the tags live as long as the type.
  const int failed = line == NULL || PyTypedMethod_AddTags(line, line_methods, typed_methods) < 0 ||
                     PyObject_SetAttrString(module, "Line", line) < 0;
  Py_XDECREF(line);
  return failed ? -1 : 0;
}

// These symbols are optional. They are for consumers that do not use the interpreter's table.
PyTypedMethod_SIBLING(gcd, functions[0], gcd_typed);

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "geometry",
    "Typed functions and methods in plain C.",
    0,
    functions,
    slots,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit_geometry(void) {
  if (PyTypedMethod_TagArray(line_methods, typed_methods) < 0) return NULL;
  return PyModuleDef_Init(&definition);
}
