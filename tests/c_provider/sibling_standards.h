// Writes and reads a sibling symbol without libpython. Used by sibling_standards.c and
// sibling_standards.cc.
#ifndef TYPEDCALL_TESTS_C_PROVIDER_SIBLING_STANDARDS_H_
#define TYPEDCALL_TESTS_C_PROVIDER_SIBLING_STANDARDS_H_

#include "typedcall/sibling_symbol.h"

static long identity(long x) { return x; }

PyTypedMethod_DEFINE(found_typed, "found", {"l->l", 0, (void *)identity});

static PyMethodDef defs[] = {{"found", NULL, METH_O, NULL}, {"missing", NULL, METH_O, NULL}};

PyTypedMethod_SIBLING(found, defs[0], found_typed);

// Returns 0, or the number of the first check that failed.
static int sibling_standards_check(void) {
  const PyNativeCallableTable *table = PyTypedMethod_SiblingTable(&defs[0]);
  if (table == NULL || table != found_typed.table) return 1;
  if (_PyPyTyped_found.def != &defs[0] || _PyPyTyped_found.table != table) return 2;
  return PyTypedMethod_SiblingTable(&defs[1]) == NULL ? 0 : 3;
}

#endif  // TYPEDCALL_TESTS_C_PROVIDER_SIBLING_STANDARDS_H_
