"""SUNDIALS' CVODE (Debian: libsundials-cvode6) solves an ordinary differential equation."""

import ctypes.util

import functions
import typedcall

RATE = "int (*)(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data)"
cv = ctypes.CDLL(ctypes.util.find_library("sundials_cvode"))
pointer, double, context = ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p()
cv.N_VMake_Serial.restype = cv.CVodeCreate.restype = cv.SUNNonlinSol_FixedPoint.restype = pointer
cv.SUNContext_Create(None, ctypes.byref(context))
values, t = (double * 2)(1, 0), double(0)
y = pointer(cv.N_VMake_Serial(ctypes.c_int64(2), values, context))
solver = pointer(cv.CVodeCreate(1, context))  # Adams
arrays = {"N_Vector": (cv.N_VGetArrayPointer, cv.N_VGetLength)}
with typedcall.callback(functions.spring, RATE, arrays=arrays) as spring:
    cv.CVodeInit(solver, pointer(spring.address), t, y)
    cv.CVodeSetUserData(solver, pointer(spring.data))
    cv.CVodeSStolerances(solver, double(1e-9), double(1e-9))
    cv.CVodeSetNonlinearSolver(solver, pointer(cv.SUNNonlinSol_FixedPoint(y, 0, context)))
    cv.CVode(solver, double(10), y, ctypes.byref(t), 1)
print("CVODE: state %.6f, %.6f" % tuple(values))
