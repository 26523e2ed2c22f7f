/* The right version, but one byte short of what version 1.0 has: a mistake. */
#define FAKED_MAJOR PyTypedcall_ABI_MAJOR
#define FAKED_MINOR PyTypedcall_ABI_MINOR
#define FAKED_SIZE ((size_t)PyTypedcall_INTERFACE_SIZE_1_0 - 1)

#include "tests/rendezvous/faked_abi.h"

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "too_small", NULL, 0, NULL, NULL, NULL, NULL, NULL,
};

FAKED_INIT(too_small)
