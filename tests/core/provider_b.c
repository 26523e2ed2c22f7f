/* One of two providers that are compiled separately; provider.h describes them. The point is
 * that each has its own copy of every static in core/. */
#define PROVIDER_NAME "provider_b"
#define PROVIDER_IDEA 2

#include "tests/core/provider.h"

PyMODINIT_FUNC PyInit_provider_b(void) { return PyModuleDef_Init(&module_def); }
