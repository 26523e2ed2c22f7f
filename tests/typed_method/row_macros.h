// Rows of every shape that the macros can write, compiled under every language standard and read
// back. Used by row_macros.c and row_macros.cc; linked without libpython.
#ifndef TYPEDCALL_TESTS_TYPED_METHOD_ROW_MACROS_H_
#define TYPEDCALL_TESTS_TYPED_METHOD_ROW_MACROS_H_

#define PyTypedMethod_FLAGS 0x3000

#include "typedcall/typed_method.h"

#include <string.h>

static long row_long(long x) { return x; }
static double row_two(double x, double y) { return x + y; }
static double row_none(void) { return 1.0; }

#define ROW_NINE "123456789"
#define ROW_LONGEST \
  ROW_NINE ROW_NINE ROW_NINE ROW_NINE ROW_NINE ROW_NINE ROW_NINE ROW_NINE ROW_NINE ROW_NINE ROW_NINE

PyTypedMethod_DEFINE(row_plain, "plain", {"l->l", 0, (void *)row_long});
PyTypedMethod_DEFINE(row_longest, ROW_LONGEST, {"l->l", 0, (void *)row_long});
PyTypedMethod_DEFINE(row_overloads, "overloads", {"l->l", 0, (void *)row_long},
                     {"dd->d", PyNativeCallable_PURE, (void *)row_two},
                     {"->d", PyNativeCallable_SHORT, (void *)row_none});
PyTypedMethod_DEFINE_PYPY(row_pypy, "pypy", PyTypedMethod_CODES(T_C_DOUBLE, T_C_DOUBLE), T_C_DOUBLE,
                          row_two, {"dd->d", 0, (void *)row_two});
PyTypedMethod_DEFINE_PYPY(row_no_arguments, "", {-1}, T_C_DOUBLE, row_none,
                          {"->d", 0, (void *)row_none});
// What a macro of the user's expands to is on one line.
#define ROW_BOTH(f, g)                                        \
  PyTypedMethod_DEFINE(f, #f, {"l->l", 0, (void *)row_long}); \
  PyTypedMethod_DEFINE(g, #g, {"l->l", 0, (void *)row_long})
ROW_BOTH(row_first, row_second);

static PyMethodDef row_methods[] = {
    PyTypedMethod_ROW(row_plain, row_long, METH_O, "plain"),
    PyTypedMethod_ROW(row_longest, row_long, METH_O, NULL),
    PyTypedMethod_ROW(row_overloads, row_long, METH_FASTCALL, NULL),
    PyTypedMethod_ROW(row_pypy, row_long, METH_FASTCALL, NULL),
    PyTypedMethod_ROW(row_no_arguments, row_long, METH_FASTCALL, NULL),
    PyTypedMethod_ROW(row_first, row_long, METH_O, NULL),
    PyTypedMethod_ROW(row_second, row_long, METH_O, NULL),
};

// 0, or the number of the first check that failed.
static int row_macros_check(void) {
  static const PyTypedMethodMetadata *const expected[] = {
      &row_plain,        &row_longest, &row_overloads, &row_pypy,
      &row_no_arguments, &row_first,   &row_second};
  static const Py_ssize_t counts[] = {1, 1, 3, 1, 1, 1, 1};
  static const char *const pypy[] = {NULL, NULL, NULL, "dd->d", "->d", NULL, NULL};
  char signature[PyTypedMethod_PYPY_LENGTH];
  for (int i = 0; i < 7; ++i) {
    PyNativeCallableEntry entry;
    const PyMethodDef *def = &row_methods[i];
    const PyNativeCallableTable *table = PyTypedMethod_Table(def);
    if (PyTypedMethod_Metadata(def) != expected[i] || def->ml_name != expected[i]->pypy.ml_name) {
      return 10 + i;
    }
    if (table == NULL || table->count != counts[i] || table->entries[0].funcptr == NULL) {
      return 20 + i;
    }
    if (PyTypedMethod_ReadPyPy(def, &entry, signature) != (pypy[i] != NULL)) return 30 + i;
    if (pypy[i] != NULL && strcmp(pypy[i], signature) != 0) return 40 + i;
  }
  const PyNativeCallableEntry *last = row_overloads.table->entries + 2;
  if (strcmp(last->signature, "->d") != 0 || last->flags != PyNativeCallable_SHORT) return 1;
  if (strlen(row_longest.pypy.ml_name) != 99) return 2;
  return strcmp(row_methods[0].ml_doc, "plain") == 0 ? 0 : 3;
}

#endif  // TYPEDCALL_TESTS_TYPED_METHOD_ROW_MACROS_H_
