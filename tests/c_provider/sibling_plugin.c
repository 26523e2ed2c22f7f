// Defs with correct and faulty sibling symbols. This shared object must not call Python
// functions, because it is loaded without an interpreter.
#include "tests/c_provider/sibling_plugin.h"

#include <string.h>

#include "typedcall/typed_method.h"

// clang-format off
#define LONGEST /* 99 bytes */ \
  a_3456789_123456789_123456789_123456789_123456789_123456789_123456789_123456789_123456789_123456789
#define TOO_LONG /* 100 bytes */ \
  b_123456789_123456789_123456789_123456789_123456789_123456789_123456789_123456789_123456789_12345678

// The names of the defs. This file defines no symbol for `without`, `in_decoy` and `pointed_at`.
#define ROWS(DEF)                                                                                 \
  DEF(good) DEF(future) DEF(without) DEF(other_def) DEF(in_decoy) DEF(in_both)      \
  DEF(pointed_at) DEF(no_table) DEF(no_entries) DEF(negative) DEF(huge) DEF(unaligned)            \
  DEF(outside) DEF(bad_signature) DEF(no_signature) DEF(signature_outside)           \
  DEF(no_function) DEF(small) DEF(large) DEF(code) DEF(per_thread) DEF(hidden) DEF(name_outside)
// clang-format on

#define NUMBER(name) DEF_##name,
enum { ROWS(NUMBER) DEF_LONGEST, DEF_TOO_LONG, DEF_1st, DEF_others };

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define DEF(name) {#name, NULL, METH_O, NULL},
static PyMethodDef defs[] = {
    ROWS(DEF){TEXT(LONGEST), NULL, METH_O, NULL},
    {TEXT(TOO_LONG), NULL, METH_O, NULL},
    {"1st", NULL, METH_O, NULL},
    {"", NULL, METH_O, NULL},
    {"a.b", NULL, METH_O, NULL},
    {"<lambda>", NULL, METH_O, NULL},
    {"a~b", NULL, METH_O, NULL},
    {"gr\xc3\xbc\xc3\x9f", NULL, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

// --- Symbols that the macro defines --------------------------------------------------------------

static long twice(long x) { return 2 * x; }

PyTypedMethod_DEFINE(good_typed, "good", PyTypedMethod_ENTRY(0, twice, LONG, LONG),
                     {"n->n", 0, (void *)twice});
PyTypedMethod_DEFINE(future_typed, "future", {"l->l", 0x02000000, (void *)twice});
PyTypedMethod_DEFINE(bad_signature_typed, "", {"l->l", 0, (void *)twice},
                     {"l>l", 0, (void *)twice});
PyTypedMethod_DEFINE(no_signature_typed, "", {NULL, 0, (void *)twice});
PyTypedMethod_DEFINE(no_function_typed, "", {"l->l", 0, NULL});

PyTypedMethod_SIBLING(good, defs[DEF_good], good_typed);
PyTypedMethod_SIBLING(future, defs[DEF_future], future_typed);
PyTypedMethod_SIBLING(other_def, defs[DEF_good], good_typed);
PyTypedMethod_SIBLING(in_both, defs[DEF_in_both], good_typed);
PyTypedMethod_SIBLING(bad_signature, defs[DEF_bad_signature], bad_signature_typed);
PyTypedMethod_SIBLING(no_signature, defs[DEF_no_signature], no_signature_typed);
PyTypedMethod_SIBLING(no_function, defs[DEF_no_function], no_function_typed);
PyTypedMethod_SIBLING(1st, defs[DEF_1st], good_typed);
#define SIBLING(name, def) PyTypedMethod_SIBLING(name, def, good_typed)
SIBLING(LONGEST, defs[DEF_LONGEST]);
SIBLING(TOO_LONG, defs[DEF_TOO_LONG]);

// --- Symbols written by hand ---------------------------------------------------------------------

static PyNativeCallableTable no_entries = {0, {{"l->l", 0, (void *)twice}}};
static PyNativeCallableTable negative = {-1, {{"l->l", 0, (void *)twice}}};
static PyNativeCallableTable huge = {PY_SSIZE_T_MAX, {{"l->l", 0, (void *)twice}}};
static PyNativeCallableTable signature_outside = {1, {{NULL, 0, (void *)twice}}};
static PyNativeCallableTable copies[2];

#define EXPORTED __attribute__((visibility("default")))
#define BY_HAND(name, table)                                                           \
  EXPORTED PyTypedMethod_Sibling _PyPyTyped_##name PyTypedMethod_Internal_AS_IT_IS = { \
      &defs[DEF_##name], table}
BY_HAND(no_table, NULL);
BY_HAND(no_entries, &no_entries);
BY_HAND(negative, &negative);
BY_HAND(huge, &huge);
BY_HAND(unaligned, NULL);
BY_HAND(outside, NULL);
BY_HAND(signature_outside, &signature_outside);
BY_HAND(name_outside, NULL);
EXPORTED const void *_PyPyTyped_small = &defs[DEF_small];
EXPORTED const void *_PyPyTyped_large[3];
EXPORTED void _PyPyTyped_code(void) {}
EXPORTED __thread PyTypedMethod_Sibling _PyPyTyped_per_thread;
__attribute__((visibility("hidden"), used)) const PyTypedMethod_Sibling _PyPyTyped_hidden = {
    &defs[DEF_hidden], (const PyNativeCallableTable *)(const void *)&good_typed_table};

EXPORTED const PyMethodDef *sibling_plugin_prepare(PyNativeCallableTable *outside,
                                                   const char *outside_name,
                                                   const char *outside_signature) {
  const PyNativeCallableTable *good = _PyPyTyped_good.table;
  memcpy((char *)copies + 1, _PyPyTyped_future.table, sizeof(*good));
  _PyPyTyped_unaligned.table = (const PyNativeCallableTable *)(const void *)((char *)copies + 1);
  *outside = *_PyPyTyped_future.table;
  _PyPyTyped_outside.table = outside;
  signature_outside.entries[0].signature = outside_signature;
  defs[DEF_name_outside].ml_name = outside_name;
  _PyPyTyped_name_outside.table = good;
  _PyPyTyped_large[0] = &defs[DEF_large];
  _PyPyTyped_large[1] = good;
  _PyPyTyped_per_thread.def = &defs[DEF_per_thread];
  _PyPyTyped_per_thread.table = good;
  sibling_decoy_point_at(&defs[DEF_pointed_at], good);
  return defs;
}
