/* Functions typed as in M. Bernstein's post "Type information for faster Python C extensions",
 * without typedcall's headers. Also contains structs with PyPy's layout. */
#include <Python.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/c_module.h"

#define METH_TYPED 0x1000
#define T_C_LONG 1
#define T_C_DOUBLE 2

typedef struct {
  int arg_type;
  int ret_type;
  void *underlying_func;
  const char ml_name[100];
} OneArgument;

typedef struct {
  int *arg_types;
  int ret_type;
  void *underlying_func;
  char ml_name[100];
} OfPyPy;

static long inc_impl(long x) { return x + 1; }
static double half_impl(double x) { return x / 2; }

static PyObject *inc(PyObject *module, PyObject *argument) {
  const long x = PyLong_AsLong(argument);
  return x == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(inc_impl(x));
}

static PyObject *half(PyObject *module, PyObject *argument) {
  const double x = PyFloat_AsDouble(argument);
  return x == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(half_impl(x));
}

static PyObject *fast(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs == 1) return inc(module, args[0]);
  return PyErr_Format(PyExc_TypeError, "fast() takes one int");
}

/* The word before each struct must not be used as a pointer. */
static const struct {
  size_t front;
  OneArgument typed;
} all[] = {
    {~(size_t)0, {T_C_LONG, T_C_LONG, (void *)inc_impl, "inc"}},
    {1, {T_C_DOUBLE, T_C_DOUBLE, (void *)half_impl, "half"}},
    {8, {T_C_LONG, T_C_LONG, (void *)inc_impl, "fast"}},
    {8, {77, T_C_LONG, (void *)inc_impl, "unknown"}},
    {8, {T_C_LONG, -77, (void *)inc_impl, "unknown_result"}},
    {8, {-1, -1, (void *)inc_impl, "ends"}},
    {8, {T_C_LONG, T_C_LONG, NULL, "nothing"}},
};

static PyMethodDef methods[] = {
    {all[0].typed.ml_name, inc, METH_O | METH_TYPED, "Add one to an int"},
    {all[1].typed.ml_name, half, METH_O | METH_TYPED, NULL},
    {all[2].typed.ml_name, (PyCFunction)(void (*)(void))fast, METH_FASTCALL | METH_TYPED, NULL},
    {all[3].typed.ml_name, inc, METH_O | METH_TYPED, NULL},
    {all[4].typed.ml_name, inc, METH_O | METH_TYPED, NULL},
    {all[5].typed.ml_name, inc, METH_O | METH_TYPED, NULL},
    {all[6].typed.ml_name, inc, METH_O | METH_TYPED, NULL},
    {NULL, NULL, 0, NULL}};

static PyMethodDef on_heap[5];

/* Copies `typed` into a block of exactly `of` bytes. Returns the copy's name, at offset `name`. */
static const char *Copy(const void *typed, size_t of, size_t name) {
  char *block = malloc(of);
  if (block == NULL) return NULL;
  memcpy(block, typed, of);
  return block + name;
}

static int Exec(PyObject *module) {
  static int codes[] = {T_C_LONG, -1};
  static const OneArgument one = {T_C_LONG, T_C_LONG, (void *)inc_impl, "heap"};
  OfPyPy pypy[3];
  memset(pypy, 0, sizeof(pypy));
  memset(&pypy[1], 0xAA, sizeof(*pypy));
  memset(&pypy[2], 0xFF, sizeof(*pypy));
  for (int i = 0; i < 3; ++i) {
    pypy[i].arg_types = codes;
    pypy[i].ret_type = T_C_LONG;
    pypy[i].underlying_func = (void *)inc_impl;
    strcpy(pypy[i].ml_name, i == 0 ? "pypy" : i == 1 ? "rubbish" : "minus_one");
  }
  for (int i = 0; i < 4 && on_heap[i].ml_name == NULL; ++i) {
    const char *name = i == 3 ? Copy(&one, sizeof(one), offsetof(OneArgument, ml_name))
                              : Copy(&pypy[i], sizeof(*pypy), offsetof(OfPyPy, ml_name));
    if (name == NULL) {
      PyErr_NoMemory();
      return -1;
    }
    on_heap[i].ml_name = name;
    on_heap[i].ml_meth = inc;
    on_heap[i].ml_flags = METH_O | METH_TYPED;
  }
  return PyModule_AddFunctions(module, on_heap);
}

TEST_MODULE_EXEC(seed_functions, methods, Exec)
