/* Installs an interface of the next major version, which this tree must refuse. */
#define FAKED_MAJOR (PyTypedcall_ABI_MAJOR + 1)
#define FAKED_MINOR 5

#include "tests/rendezvous/faked_abi.h"

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "other_major", NULL, 0, NULL, NULL, NULL, NULL, NULL,
};

FAKED_INIT(other_major)
