/* One of two providers that are compiled separately: provider.h says what they do.
 * Its own copy of every static in core/ is the point. */
#define PROVIDER_NAME "provider_a"
#define PROVIDER_IDEA 1

#include "tests/core/provider.h"

PyMODINIT_FUNC PyInit_provider_a(void) { return PyModuleDef_Init(&module_def); }
