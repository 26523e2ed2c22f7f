"""numbalsoda (PyPI) solves an ordinary differential equation."""

import ctypes

import functions
import numbalsoda
import numpy
import typedcall

RATE = "void (*)(double t, double y[2], double dydt[2], void *data)"
way, y = numpy.array([0.0, 10]), numpy.array([1.0, 0])
with typedcall.callback(functions.spring, RATE) as spring:
    solved = numbalsoda.solve_ivp(
        spring.address, way, y, way[1:], data=spring.data, rtol=1e-9, atol=1e-9
    )  # DOP853
    # lsoda() passes the function a pointer to this array's elements, so put the array at
    # `spring.data`.
    data = numpy.ctypeslib.as_array((ctypes.c_double * 1).from_address(spring.data))
    states, _ = numbalsoda.lsoda(spring.address, y, way, data, rtol=1e-9, atol=1e-9)
print("numbalsoda: states %.6f, %.6f and %.6f, %.6f" % (*solved.y[0], *states[1]))
