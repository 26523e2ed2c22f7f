/* A provider of a newer minor version, whose interface has functions that this tree has not: it can
 * be used, in whatever order the two come. */
#define FAKED_MAJOR PyTypedcall_ABI_MAJOR
#define FAKED_MINOR (PyTypedcall_ABI_MINOR + 1)
#define FAKED_SIZE (sizeof(PyTypedcall_Interface) + 3 * sizeof(void *))
#define PROVIDER_NAME "newer_minor"
#define PROVIDER_IDEA 3

#include "tests/rendezvous/faked_abi.h"
/* After the names that it needs. */
#include "tests/core/provider.h"

FAKED_INIT(newer_minor)
