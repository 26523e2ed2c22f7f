# distutils: language = c++
# cython: language_level=3
# A consumer in Cython, compiled as C++. It does not import the Python package.
from typedcall.cpp cimport PyTypedcall_Import, resolution, resolve_or_raise

ctypedef double (*unary)(double) nogil


def total(f, int count):
    cdef resolution found = resolve_or_raise(PyTypedcall_Import(), f, b"d->d", 0)
    cdef unary call = <unary>found.funcptr
    cdef double sum = 0
    cdef int i
    with nogil:
        for i in range(count):
            sum += call(i)
    return sum
