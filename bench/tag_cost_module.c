// The module of tag_cost.py: two functions, each with three defs that differ only in their tags.
#include <Python.h>

#include "typedcall/tag.h"

static long inc_native(long x) { return (long)((unsigned long)x + 1u); }
static long add_native(long x, long y) { return (long)((unsigned long)x + (unsigned long)y); }

static PyObject *inc(PyObject *module, PyObject *arg) {
  (void)module;
  long x = PyLong_AsLong(arg);
  if (x == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(inc_native(x));
}

static PyObject *add(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (nargs != 2) {
    PyErr_SetString(PyExc_TypeError, "two arguments are needed");
    return NULL;
  }
  long x = PyLong_AsLong(args[0]);
  if (x == -1 && PyErr_Occurred()) return NULL;
  long y = PyLong_AsLong(args[1]);
  if (y == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(add_native(x, y));
}

#define INC_TYPED(variable)                                                               \
  PyTypedMethod_DEFINE_PYPY(variable, #variable, PyTypedMethod_CODES(T_C_LONG), T_C_LONG, \
                            inc_native, {"l->l", 0, (void *)inc_native})
#define ADD_TYPED(variable)                                                               \
  PyTypedMethod_DEFINE_PYPY(variable, #variable, PyTypedMethod_CODES(T_C_LONG, T_C_LONG), \
                            T_C_LONG, add_native, {"ll->l", 0, (void *)add_native})

INC_TYPED(o_tagged);
INC_TYPED(o_flagged);
ADD_TYPED(fastcall_tagged);
ADD_TYPED(fastcall_flagged);

// Like PyTypedMethod_METHOD_DEF, but with the flag bits on every version.
#define FLAGGED_ROW(variable, wrapper, flags)                        \
  {                                                                  \
    (variable).pypy.ml_name, (PyCFunction)(void (*)(void))(wrapper), \
        (flags) | METH_TYPED | METH_TYPED_EXT, NULL                  \
  }

static PyMethodDef methods[] = {
    {"o_untagged", inc, METH_O, NULL},
    PyTypedMethod_METHOD_DEF(o_tagged, inc, METH_O, NULL),
    FLAGGED_ROW(o_flagged, inc, METH_O),
    {"fastcall_untagged", (PyCFunction)(void (*)(void))add, METH_FASTCALL, NULL},
    PyTypedMethod_METHOD_DEF(fastcall_tagged, add, METH_FASTCALL, NULL),
    FLAGGED_ROW(fastcall_flagged, add, METH_FASTCALL),
    {NULL, NULL, 0, NULL},
};

static const PyTypedMethodMetadata *const typed[] = {&o_tagged, &o_flagged, &fastcall_tagged,
                                                     &fastcall_flagged, NULL};

static int exec_module(PyObject *module) { return PyTypedMethod_AddTags(module, methods, typed); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};

static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "tag_cost_module",
                                 .m_methods = methods,
                                 .m_slots = slots};

PyMODINIT_FUNC PyInit_tag_cost_module(void) { return PyModuleDef_Init(&definition); }
