// The provider in plain C, with a hand-written wrapper. The three places where tagging adds code
// are numbered.
#include "typedcall/tag.h"

static long inc_impl(long x) { return (long)((unsigned long)x + 1); }

static PyObject *inc(PyObject *module, PyObject *argument) {
  (void)module;
  PyObject *integer = PyNumber_Index(argument);  // before 3.10, PyLong_AsLong accepts floats
  if (integer == NULL) return NULL;
  const long x = PyLong_AsLong(integer);
  Py_DECREF(integer);
  if (x == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(inc_impl(x));
}

// 1. The data in front of the name: PyPy's fields, then the overloads.
PyTypedMethod_DEFINE_PYPY(inc_typed, "inc", PyTypedMethod_CODES(T_C_LONG), T_C_LONG, inc_impl,
                          {"l->l", PyNativeCallable_PURE, (void *)inc_impl});

// 2. The def takes its name from that struct.
static PyMethodDef methods[] = {
    PyTypedMethod_METHOD_DEF(inc_typed, inc, METH_O,
                             "inc($module, x, /)\n--\n\nAdd one; the largest int wraps round."),
    {NULL, NULL, 0, NULL},
};

// 3. On versions where flag bits would cost time, the interpreter's side table replaces them.
static int exec(PyObject *module) {
  static const PyTypedMethodMetadata *const typed[] = {&inc_typed, NULL};
  return PyTypedMethod_AddTags(module, methods, typed);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "quickstart_c",
    "One typed function in plain C.",
    0,
    methods,
    slots,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit_quickstart_c(void) { return PyModuleDef_Init(&definition); }
