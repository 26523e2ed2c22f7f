// A module in plain C whose defs are written with the macros of typedcall/typed_method.h.
// `handmade_flagged` is the same module built with the flag bits forced.
#include "tests/support/c_module.h"
#include "typedcall/tag.h"

static long inc_impl(long x) { return (long)((unsigned long)x + 1); }
static double half_impl(double x) { return x / 2; }
static long half_long_impl(long x) { return x / 2; }

static PyObject *inc(PyObject *module, PyObject *argument) {
  const long x = PyLong_AsLong(argument);
  if (x == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(inc_impl(x));
}

static PyObject *half(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs != 1) {
    PyErr_SetString(PyExc_TypeError, "half() takes one argument");
    return NULL;
  }
  if (PyLong_Check(args[0])) {
    const long x = PyLong_AsLong(args[0]);
    if (x == -1 && PyErr_Occurred()) return NULL;
    return PyLong_FromLong(half_long_impl(x));
  }
  const double x = PyFloat_AsDouble(args[0]);
  if (x == -1.0 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(half_impl(x));
}

static PyObject *untagged(PyObject *module, PyObject *argument) {
  Py_INCREF(argument);
  return argument;
}

PyTypedMethod_DEFINE_PYPY(inc_typed, "inc", PyTypedMethod_CODES(T_C_LONG), T_C_LONG, inc_impl,
                          {"l->l", PyNativeCallable_PURE, (void *)inc_impl});
PyTypedMethod_DEFINE(half_typed, "half", {"d->d", 0, (void *)half_impl},
                     {"l->l", 0, (void *)half_long_impl});

// Returns where the tag of `function` is stored ("bits", "side table", "both" or "nowhere"), and
// the signatures in the tag.
static PyObject *where(PyObject *module, PyObject *function) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  const PyMethodDef *def = PyTypedMethod_DefOf(function);
  if (interface == NULL) return NULL;
  const PyNativeCallableTable *bits = PyTypedMethod_Table(def);
  const PyNativeCallableTable *side =
      (const PyNativeCallableTable *)interface->find(interface->state, PyTypedcall_BY_DEF, def);
  const PyNativeCallableTable *table = bits != NULL ? bits : side;
  PyObject *signatures = PyList_New(0);
  for (Py_ssize_t i = 0; signatures != NULL && table != NULL && i < table->count; ++i) {
    PyObject *text = PyUnicode_FromString(table->entries[i].signature);
    if (text == NULL || PyList_Append(signatures, text) < 0) Py_CLEAR(signatures);
    Py_XDECREF(text);
  }
  const char *place =
      bits != NULL ? (side != NULL ? "both" : "bits") : (side != NULL ? "side table" : "nowhere");
  return signatures != NULL ? Py_BuildValue("(sN)", place, signatures) : NULL;
}

// Returns the signature that a reader of PyPy's struct finds.
static PyObject *pypy(PyObject *module, PyObject *function) {
  PyNativeCallableEntry entry;
  char signature[PyTypedMethod_PYPY_LENGTH];
  if (!PyTypedMethod_ReadPyPy(PyTypedMethod_DefOf(function), &entry, signature)) Py_RETURN_NONE;
  return PyUnicode_FromString(entry.signature);
}

static PyMethodDef methods[] = {
    PyTypedMethod_METHOD_DEF(inc_typed, inc, METH_O, "inc($module, x, /)\n--\n\nAdd one."),
    {"untagged", untagged, METH_O, NULL},
    PyTypedMethod_METHOD_DEF(half_typed, half, METH_FASTCALL, "half($module, x, /)\n--\n\nHalve."),
    {"where", where, METH_O, NULL},
    {"pypy", pypy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int exec(PyObject *module) {
  static const PyTypedMethodMetadata *const typed[] = {&inc_typed, &half_typed, NULL};
  return PyTypedMethod_AddTags(module, methods, typed);
}

TEST_MODULE_EXEC(HANDMADE_NAME, methods, exec)
