/* Installs the interface that a library of the next major version would install. The module does
 * not use it, because this tree's headers must refuse it. */
#define FAKED_MAJOR (PyTypedcall_ABI_MAJOR + 1)
#define FAKED_MINOR 5

#include "tests/rendezvous/faked_abi.h"

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "other_major", NULL, 0, NULL, NULL, NULL, NULL, NULL,
};

FAKED_INIT(other_major)
