"""GSL (Debian: libgsl27) integrates a typed function."""

import ctypes.util

import functions
import typedcall

pointer, double = ctypes.c_void_p, ctypes.c_double
gsl = ctypes.CDLL(ctypes.util.find_library("gsl"))
gsl.gsl_integration_workspace_alloc.restype = pointer
integral, error = double(), double()
gsl.gsl_set_error_handler_off()
with typedcall.callback(functions.bell, "double (*)(double x, void *params)") as bell:
    space = pointer(gsl.gsl_integration_workspace_alloc(ctypes.c_size_t(1000)))
    f = (pointer * 2)(bell.address, bell.data)
    gsl.gsl_integration_qagi(f, double(0), double(1e-9), ctypes.c_size_t(1000), space,
                             ctypes.byref(integral), ctypes.byref(error))  # fmt: skip
    gsl.gsl_integration_workspace_free(space)
print("GSL: integral %.9f" % integral.value)
