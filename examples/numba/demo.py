"""Numba compiles calls to an extension module's functions into direct calls to the C functions. No
import is needed: the installed package `typedcall` registers itself with Numba."""

import time

import numba

import orbit


def simulate(steps):
    position, speed, dt = 1.0, 0.2, 1e-6
    for _ in range(steps):
        speed += dt * (orbit.pull(position) + 1 / position**3)
        position += dt * speed
    return position


def timed(function, steps):
    start = time.perf_counter()
    result = function(steps)
    return result, (time.perf_counter() - start) / steps * 1e9


compiled = numba.njit(simulate)
compiled(1)  # compile
interpreted, slow = timed(simulate, 200_000)
fast_result, fast = timed(compiled, 200_000)
assert interpreted == fast_result, (interpreted, fast_result)
print("position %.12f both ways; CPython %.0f ns a step, Numba %.1f ns" % (fast_result, slow, fast))
