"""SciPy's brentq for C callers (scipy.optimize.cython_optimize) finds a root of a typed function."""

import ctypes

import functions
import typedcall
from scipy.optimize.cython_optimize import _zeros

pointer, double, capsule = ctypes.c_void_p, ctypes.c_double, _zeros.__pyx_capi__["brentq"]
PyCapsule_GetName = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
PyCapsule_GetPointer = ctypes.PYFUNCTYPE(pointer, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
brentq = ctypes.CFUNCTYPE(
    double, pointer, double, double, pointer, double, double, ctypes.c_int, pointer
)(
    PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
)  # the arguments are f, a, b, data, xtol, rtol, most, details
with typedcall.callback(functions.wave, "double (*)(double x, void *params)") as wave:
    root = brentq(wave.address, 0, 9, wave.data, 1e-12, 1e-12, 100, None)
print("SciPy: root at %.9f" % root)
