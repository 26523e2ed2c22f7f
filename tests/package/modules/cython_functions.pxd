# The exports of cython_functions.pyx. Cython exports a cpdef function only if a .pxd file declares it.
ctypedef fused number:
    long
    double

# Types of the module. A capsule contains only their names.
ctypedef unsigned long cell

cpdef enum color:
    red
    blue

cpdef cell parent(cell of) noexcept nogil
cpdef int paint(color of) noexcept nogil
cpdef double scale(double x, int times) noexcept nogil
cpdef long checked(long x) except? -1
cpdef long by_five(long x) except 5
cpdef double by_two(double x) except? -2.0
cpdef object same(object x)
cpdef object first(list values)
cpdef object made(long x)

cdef class Point:
    cdef double x

cpdef double x_of(Point point) except? -1
cpdef Point moved(double x)
cdef object first_in_c(list values)
cpdef number twice(number x) noexcept
cpdef double complex turn(double complex z) noexcept
cpdef void nothing(double x) noexcept
cpdef double optional(double x, double y=*) noexcept
cpdef unsigned long long first_of_all(unsigned long long x) noexcept nogil
cpdef long long second(long long x) noexcept nogil
# Python converts these differently, which a capsule does not show.
cpdef bint is_odd(int x) noexcept nogil
cpdef long from_bint(bint x) noexcept nogil
cpdef const char *text_of(const char *x) noexcept nogil
cpdef long plain(long x) noexcept nogil
