# The module with Cython's def. It is built twice: with binding=True, the default, and with binding=False.
# cython: language_level=3

cdef extern from "bench/peers/native.h":
    long native_inc "inc"(long) noexcept nogil
    double native_add "add"(double, double) noexcept nogil
    double native_mix "mix"(double, long, double, long) noexcept nogil


def inc(long x):
    return native_inc(x)


def add(double x, double y):
    return native_add(x, y)


def mix(double x, long m, double y, long n):
    return native_mix(x, m, y, n)
