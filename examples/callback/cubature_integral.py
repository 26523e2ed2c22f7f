"""cubature (Debian: libcubature0) integrates a typed function over a square."""

import ctypes.util

import functions
import typedcall

INTEGRAND = "int (*)(unsigned ndim, const double *x, void *fdata, unsigned fdim, double *fval)"
pointer, double = ctypes.c_void_p, ctypes.c_double
cubature = ctypes.CDLL(ctypes.util.find_library("cubature"))
low, high, integral, error = (double * 2)(0, 0), (double * 2)(1, 1), double(), double()
with typedcall.callback(functions.ball, INTEGRAND) as ball:
    cubature.hcubature(1, pointer(ball.address), pointer(ball.data), 2, low, high,
                       ctypes.c_size_t(200_000), double(0), double(1e-5), 1,
                       ctypes.byref(integral), ctypes.byref(error))  # fmt: skip
print("cubature: integral %.4f" % integral.value)
