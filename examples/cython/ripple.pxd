# The exports of ripple.pyx: Cython exports the functions that a .pxd declares.
cpdef double wave(double x) noexcept nogil
cpdef long half(long x) except? -1
