/* A provider of the oldest minor version that can be used: its interface ends with what 1.0 has. */
#define FAKED_MAJOR PyTypedcall_ABI_MAJOR
#define FAKED_MINOR 0
#define FAKED_SIZE ((size_t)PyTypedcall_INTERFACE_SIZE_1_0)
#define PROVIDER_NAME "older_minor"
#define PROVIDER_IDEA 4

#include "tests/rendezvous/faked_abi.h"
/* After the names that it needs. */
#include "tests/core/provider.h"

FAKED_INIT(older_minor)
