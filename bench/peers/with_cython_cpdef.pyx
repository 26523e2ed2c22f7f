# The module with Cython's cpdef, which other Cython modules can call as C.
# cython: language_level=3

cdef extern from "bench/peers/native.h":
    long native_inc "inc"(long) noexcept nogil
    double native_add "add"(double, double) noexcept nogil
    double native_mix "mix"(double, long, double, long) noexcept nogil


cpdef long inc(long x) noexcept:
    return native_inc(x)


cpdef double add(double x, double y) noexcept:
    return native_add(x, y)


cpdef double mix(double x, long m, double y, long n) noexcept:
    return native_mix(x, m, y, n)
