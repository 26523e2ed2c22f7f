// Writes defs with the macros and reads them. Used by def_macros.c and def_macros.cc.
#ifndef TYPEDCALL_TESTS_TYPED_METHOD_ROW_MACROS_H_
#define TYPEDCALL_TESTS_TYPED_METHOD_ROW_MACROS_H_

#define PyTypedMethod_FLAGS 0x3000

#include "typedcall/typed_method.h"

#include <string.h>

static long def_long(long x) { return x; }
static double def_two(double x, double y) { return x + y; }
static double def_none(void) { return 1.0; }

#define DEF_NINE "123456789"
#define DEF_LONGEST \
  DEF_NINE DEF_NINE DEF_NINE DEF_NINE DEF_NINE DEF_NINE DEF_NINE DEF_NINE DEF_NINE DEF_NINE DEF_NINE

PyTypedMethod_DEFINE(def_plain, "plain", {"l->l", 0, (void *)def_long});
PyTypedMethod_DEFINE(def_longest, DEF_LONGEST, {"l->l", 0, (void *)def_long});
PyTypedMethod_DEFINE(def_overloads, "overloads", {"l->l", 0, (void *)def_long},
                     {"dd->d", PyNativeCallable_PURE, (void *)def_two},
                     {"->d", PyNativeCallable_SHORT, (void *)def_none});
PyTypedMethod_DEFINE_PYPY(def_pypy, "pypy", PyTypedMethod_CODES(T_C_DOUBLE, T_C_DOUBLE), T_C_DOUBLE,
                          def_two, {"dd->d", 0, (void *)def_two});
PyTypedMethod_DEFINE_PYPY(def_no_arguments, "", {-1}, T_C_DOUBLE, def_none,
                          {"->d", 0, (void *)def_none});
// A user's macro expands to one line.
#define DEF_BOTH(f, g)                                        \
  PyTypedMethod_DEFINE(f, #f, {"l->l", 0, (void *)def_long}); \
  PyTypedMethod_DEFINE(g, #g, {"l->l", 0, (void *)def_long})
DEF_BOTH(def_first, def_second);

static PyMethodDef def_methods[] = {
    PyTypedMethod_METHOD_DEF(def_plain, def_long, METH_O, "plain"),
    PyTypedMethod_METHOD_DEF(def_longest, def_long, METH_O, NULL),
    PyTypedMethod_METHOD_DEF(def_overloads, def_long, METH_FASTCALL, NULL),
    PyTypedMethod_METHOD_DEF(def_pypy, def_long, METH_FASTCALL, NULL),
    PyTypedMethod_METHOD_DEF(def_no_arguments, def_long, METH_FASTCALL, NULL),
    PyTypedMethod_METHOD_DEF(def_first, def_long, METH_O, NULL),
    PyTypedMethod_METHOD_DEF(def_second, def_long, METH_O, NULL),
};

// Returns 0, or the number of the first check that failed.
static int def_macros_check(void) {
  static const PyTypedMethodMetadata *const expected[] = {
      &def_plain,        &def_longest, &def_overloads, &def_pypy,
      &def_no_arguments, &def_first,   &def_second};
  static const Py_ssize_t counts[] = {1, 1, 3, 1, 1, 1, 1};
  static const char *const pypy[] = {NULL, NULL, NULL, "dd->d", "->d", NULL, NULL};
  char signature[PyTypedMethod_PYPY_LENGTH];
  for (int i = 0; i < 7; ++i) {
    PyNativeCallableEntry entry;
    const PyMethodDef *def = &def_methods[i];
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
  const PyNativeCallableEntry *last = def_overloads.table->entries + 2;
  if (strcmp(last->signature, "->d") != 0 || last->flags != PyNativeCallable_SHORT) return 1;
  if (strlen(def_longest.pypy.ml_name) != 99) return 2;
  return strcmp(def_methods[0].ml_doc, "plain") == 0 ? 0 : 3;
}

#endif  // TYPEDCALL_TESTS_TYPED_METHOD_ROW_MACROS_H_
