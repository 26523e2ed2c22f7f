"""GSL (Debian: libgsl27) solves an ordinary differential equation."""

import ctypes.util

import functions
import typedcall

RATE = "int (*)(double t, const double y[2], double dydt[2], void *params)"
pointer, double = ctypes.c_void_p, ctypes.c_double
gsl = ctypes.CDLL(ctypes.util.find_library("gsl"))
gsl.gsl_odeiv2_driver_alloc_y_new.restype = pointer
t, y = double(0), (double * 2)(1, 0)
with typedcall.callback(functions.spring, RATE) as spring:
    system = (pointer * 4)(spring.address, None, 2, spring.data)
    method = pointer.in_dll(gsl, "gsl_odeiv2_step_rkf45")
    driver = pointer(
        gsl.gsl_odeiv2_driver_alloc_y_new(system, method, double(1e-3), double(1e-9), double(0))
    )
    gsl.gsl_odeiv2_driver_apply(driver, ctypes.byref(t), double(10), y)
    gsl.gsl_odeiv2_driver_free(driver)
print("GSL: state %.6f, %.6f" % tuple(y))
