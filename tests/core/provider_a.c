/* One of two separately compiled providers. Each has its own copy of the statics in core/. */
#define PROVIDER_NAME "provider_a"
#define PROVIDER_IDEA 1

#include "tests/core/provider.h"

PyMODINIT_FUNC PyInit_provider_a(void) { return PyModuleDef_Init(&module_def); }
