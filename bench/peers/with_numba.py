# The module with Numba. The functions are written in Python and compiled on import.
import numba


@numba.njit("int64(int64)")
def inc(x):
    return x + 1


@numba.njit("float64(float64, float64)")
def add(x, y):
    return x + y


@numba.njit("float64(float64, int64, float64, int64)")
def mix(x, m, y, n):
    return x * m + y * n
