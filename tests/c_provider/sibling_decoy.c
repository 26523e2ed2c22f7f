// A library whose sibling symbols have the same names as defs in the plugin.
#include "tests/c_provider/sibling_plugin.h"

static double half(double x) { return x / 2; }

static PyMethodDef defs[] = {
    {"in_decoy", NULL, METH_O, NULL}, {"in_both", NULL, METH_O, NULL}, {NULL, NULL, 0, NULL}};

PyTypedMethod_DEFINE(half_typed, "half", {"d->d", 0, (void *)half});
PyTypedMethod_SIBLING(in_decoy, defs[0], half_typed);
PyTypedMethod_SIBLING(in_both, defs[1], half_typed);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED PyTypedMethod_Sibling _PyPyTyped_pointed_at;

EXPORTED void sibling_decoy_point_at(const PyMethodDef *def, const PyNativeCallableTable *table) {
  _PyPyTyped_pointed_at.def = def;
  _PyPyTyped_pointed_at.table = table;
}

EXPORTED const PyMethodDef *sibling_decoy_defs(void) { return defs; }
