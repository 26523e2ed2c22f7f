// Declarations shared by sibling_test.cc, the plugin and the decoy.
#ifndef TYPEDCALL_TESTS_C_PROVIDER_SIBLING_PLUGIN_H_
#define TYPEDCALL_TESTS_C_PROVIDER_SIBLING_PLUGIN_H_

#include "typedcall/typed_method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes some of the plugin's symbols refer to the caller's data, and writes a valid table to
/// `*outside`. Returns the plugin's defs; a NULL name ends the array.
const PyMethodDef *sibling_plugin_prepare(PyNativeCallableTable *outside, const char *outside_name,
                                          const char *outside_signature);

/// Makes `_PyPyTyped_pointed_at` in the decoy refer to this def and table.
void sibling_decoy_point_at(const PyMethodDef *def, const PyNativeCallableTable *table);

/// Returns the decoy's own defs, `in_decoy` and `in_both`.
const PyMethodDef *sibling_decoy_defs(void);

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TESTS_C_PROVIDER_SIBLING_PLUGIN_H_
