"""NLopt (Debian: libnlopt0) minimises a typed function, using its gradient."""

import ctypes.util

import functions
import typedcall

OBJECTIVE = "double (*)(unsigned n, const double *x, double *gradient, void *data)"
pointer = ctypes.c_void_p
nlopt = ctypes.CDLL(ctypes.util.find_library("nlopt"))
nlopt.nlopt_create.restype = pointer
x, least = (ctypes.c_double * 2)(-1.2, 1), ctypes.c_double()
with typedcall.callback(functions.valley, OBJECTIVE) as valley:
    optimizer = pointer(nlopt.nlopt_create(nlopt.nlopt_algorithm_from_string(b"LD_LBFGS"), 2))
    nlopt.nlopt_set_min_objective(optimizer, pointer(valley.address), pointer(valley.data))
    nlopt.nlopt_set_xtol_rel(optimizer, ctypes.c_double(1e-8))
    nlopt.nlopt_optimize(optimizer, x, ctypes.byref(least))
    nlopt.nlopt_destroy(optimizer)
print("NLopt: least at %.5f, %.5f" % tuple(x))
