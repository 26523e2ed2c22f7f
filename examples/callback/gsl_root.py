"""GSL (Debian: libgsl27) finds a root of a typed function."""

import ctypes.util

import functions
import typedcall

pointer, double = ctypes.c_void_p, ctypes.c_double
gsl = ctypes.CDLL(ctypes.util.find_library("gsl"))
gsl.gsl_root_fsolver_alloc.restype, gsl.gsl_root_fsolver_root.restype = pointer, double
brent = pointer.in_dll(gsl, "gsl_root_fsolver_brent")
gsl.gsl_set_error_handler_off()
with typedcall.callback(functions.wave, "double (*)(double x, void *params)") as wave:
    solver = pointer(gsl.gsl_root_fsolver_alloc(brent))
    gsl.gsl_root_fsolver_set(solver, (pointer * 2)(wave.address, wave.data), double(0), double(9))
    for _ in range(20):
        gsl.gsl_root_fsolver_iterate(solver)
    print("GSL: root at %.9f" % gsl.gsl_root_fsolver_root(solver))
    gsl.gsl_root_fsolver_free(solver)
