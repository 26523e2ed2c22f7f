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

/* The post's layout. */
typedef struct {
  int argument, result;
  void *address;
  const char name[100];
} OneArgument;

/* PyPy's layout. `codes` ends with -1. */
typedef struct {
  int *codes;
  int result;
  void *address;
  char name[100];
} OfPyPy;

static long successor(long x) { return x + 1; }
static double halved(double x) { return x / 2; }

static PyObject *inc(PyObject *module, PyObject *argument) {
  const long x = PyLong_AsLong(argument);
  return x == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(successor(x));
}

static PyObject *half(PyObject *module, PyObject *argument) {
  const double x = PyFloat_AsDouble(argument);
  return x == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(halved(x));
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
    {~(size_t)0, {T_C_LONG, T_C_LONG, (void *)successor, "inc"}},
    {1, {T_C_DOUBLE, T_C_DOUBLE, (void *)halved, "half"}},
    {8, {T_C_LONG, T_C_LONG, (void *)successor, "fast"}},
    {8, {77, T_C_LONG, (void *)successor, "unknown"}},
    {8, {T_C_LONG, -77, (void *)successor, "unknown_result"}},
    {8, {-1, -1, (void *)successor, "ends"}},
    {8, {T_C_LONG, T_C_LONG, NULL, "nothing"}},
};

static PyMethodDef methods[] = {
    {all[0].typed.name, inc, METH_O | METH_TYPED, NULL},
    {all[1].typed.name, half, METH_O | METH_TYPED, NULL},
    {all[2].typed.name, (PyCFunction)(void (*)(void))fast, METH_FASTCALL | METH_TYPED, NULL},
    {all[3].typed.name, inc, METH_O | METH_TYPED, NULL},
    {all[4].typed.name, inc, METH_O | METH_TYPED, NULL},
    {all[5].typed.name, inc, METH_O | METH_TYPED, NULL},
    {all[6].typed.name, inc, METH_O | METH_TYPED, NULL},
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
  static const OneArgument one = {T_C_LONG, T_C_LONG, (void *)successor, "heap"};
  OfPyPy pypy[3];
  memset(pypy, 0, sizeof(pypy));
  memset(&pypy[1], 0xAA, sizeof(*pypy));
  memset(&pypy[2], 0xFF, sizeof(*pypy));
  for (int i = 0; i < 3; ++i) {
    pypy[i].codes = codes;
    pypy[i].result = T_C_LONG;
    pypy[i].address = (void *)successor;
    strcpy(pypy[i].name, i == 0 ? "pypy" : i == 1 ? "rubbish" : "minus_one");
  }
  for (int i = 0; i < 4 && on_heap[i].ml_name == NULL; ++i) {
    const char *name = i == 3 ? Copy(&one, sizeof(one), offsetof(OneArgument, name))
                              : Copy(&pypy[i], sizeof(*pypy), offsetof(OfPyPy, name));
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
