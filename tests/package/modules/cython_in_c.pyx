# cython: language_level=3
# A consumer in Cython, compiled as C.
import typedcall
from typedcall cimport (PyNativeCallable_MAY_RAISE, PyNativeSignature_Equivalent,
                        PyNativeSignature_Fault, PyNativeSignature_ParseString, address_of)

ctypedef double (*unary)(double) nogil

MAY_RAISE = PyNativeCallable_MAY_RAISE


def total(f, int count):
    resolved = typedcall.resolve(f, "d->d", capabilities=0)
    cdef unary call = <unary>address_of(resolved)
    cdef double sum = 0
    cdef int i
    with nogil:
        for i in range(count):
            sum += call(i)
    return sum


def address(resolved):
    return <size_t>address_of(resolved)


def fault(bytes text):
    cdef PyNativeSignature_Fault found
    if PyNativeSignature_ParseString(text, NULL, &found) == 0:
        return None
    return found.position


def equivalent(bytes a, bytes b):
    return bool(PyNativeSignature_Equivalent(a, b))
