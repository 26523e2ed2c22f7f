# What ripple.pyx exports; Cython exports what a .pxd declares.
cpdef double wave(double x) noexcept nogil
cpdef long half(long x) except? -1
