# The functions that ripple.pyx exports.
cpdef double wave(double x) noexcept nogil
cpdef long half(long x) except? -1
