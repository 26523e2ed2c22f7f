# cython: language_level=3
# Functions that Cython exports in `__pyx_capi__`.
cimport cython

cpdef double scale(double x, int times) noexcept nogil:
    return x * times

cpdef cell parent(cell of) noexcept nogil:
    return of >> 1

cpdef int paint(color of) noexcept nogil:
    return of

cpdef long checked(long x) except? -1:
    if x == 13:
        raise ValueError("thirteen")
    return x

# Functions with unusual error values.
cpdef long by_five(long x) except 5:
    if x == 13:
        raise ValueError("thirteen")
    return x

cpdef double by_two(double x) except? -2.0:
    if x == 13:
        raise ValueError("thirteen")
    return x

cpdef object same(object x):
    return x

# The C code does not check that the object is a list.
@cython.boundscheck(False)
@cython.wraparound(False)
cpdef object first(list values):
    return values[0]

cdef object first_in_c(list values):
    return values[0]

cpdef object made(long x):
    return [x]

cdef class Point:
    def __init__(self, x):
        self.x = x

cpdef double x_of(Point point) except? -1:
    return point.x

cpdef Point moved(double x):
    return Point(x)

cpdef number twice(number x) noexcept:
    return 2 * x

cpdef double complex turn(double complex z) noexcept:
    return z * 1j

cpdef void nothing(double x) noexcept:
    pass

cpdef double optional(double x, double y=2.0) noexcept:
    return x * y

cdef api double only_in_c(double *values, Py_ssize_t count) noexcept nogil:
    cdef double sum = 0
    cdef Py_ssize_t i
    for i in range(count):
        sum += values[i]
    return sum

cpdef unsigned long long first_of_all(unsigned long long x) noexcept nogil:
    return x >> 20

cpdef long long second(long long x) noexcept nogil:
    return x

cpdef bint is_odd(int x) noexcept nogil:
    return x & 1

cpdef long from_bint(bint x) noexcept nogil:
    return x

cpdef const char *text_of(const char *x) noexcept nogil:
    return x

cpdef long plain(long x) noexcept nogil:
    return x

def not_exported(double x):
    return x
