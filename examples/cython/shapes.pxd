# Written by typedcall.cython_declarations("shapes").
cdef double root(double) except? -1
cdef double stretch(double, long) noexcept nogil
