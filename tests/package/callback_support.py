"""Shared by the tests of typedcall.callback()."""

import ctypes

import support
from matrix_c_types import TYPES

support.module_only_if(not support.IS_PYPY, "typedcall.callback is CPython's")

functions = support.build("callback_functions")

OF_NUMBER = "double (*)(double x, void *params)"
NLOPT = "double(unsigned n, const double *x, double *gradient, void *data)"
CUBATURE = "int(unsigned ndim, const double *x, void *fdata, unsigned fdim, double *fval)"
GSL_ODE = "int (*)(double t, const double y[2], double dydt[2], void *params)"
MONTE = "double (*)(double *x, size_t dim, void *params)"
SCIPY = "double (int n, double *x, void *user_data)"

_TYPES = {"P": ctypes.c_void_p, **{letters: of for letters, (_, of) in TYPES.items()}}


def call(made, signature, *arguments):
    """Calls the callback's C function. `P` in the signature is the data pointer."""
    letters, result = signature.split("->")
    prototype = ctypes.PYFUNCTYPE(_TYPES[result], *(_TYPES[each] for each in letters))
    return prototype(made.address)(*(made.data if each is ... else each for each in arguments))


def doubles(*values):
    return (ctypes.c_double * len(values))(*values)
