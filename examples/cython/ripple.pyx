# cython: language_level=3
# Calls C functions of another module, and tags its own functions.
from typedcall cimport PyNativeCallable_MAY_RAISE, PyNativeCallable_NEEDS_THREAD
from typedcall.tags cimport tag_pyx_capi
from shapes cimport root, stretch


def total(long count):
    """Sums the results of C calls in a loop without the GIL."""
    cdef double sum = 0
    cdef long i
    with nogil:
        for i in range(count):
            sum += stretch(0.5, i)
    return sum


def diagonal(double a, double b):
    return root(a * a + b * b)


def checked(double x):
    return root(x)


cpdef double wave(double x) noexcept nogil:
    return x * (1 - x)


cpdef long half(long x) except? -1:
    if x % 2:
        raise ValueError("odd")
    return x // 2


# Cython does not record how functions report exceptions. These flags declare that a function that
# raises returns -1. Without typedcall, nothing is tagged.
tagged = tag_pyx_capi(__name__, PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE)
