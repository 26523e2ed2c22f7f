/* Another translation unit of geometry_in_cc, which also includes the single file. */
#include "typedcall_provider.h"

const PyTypedMethodMetadata *metadata_of_c_unit(void);

static long sum(long a, long b) { return a + b; }

PyTypedMethod_DEFINE(sum_typed, "in_c", PyTypedMethod_ENTRY(0, sum, LONG, LONG, LONG));

const PyTypedMethodMetadata *metadata_of_c_unit(void) { return &sum_typed; }
