# Declarations for Cython code. typedcall/tags/ tags, and typedcall/cpp.pxd has more for C++.
#
#     import typedcall
#     from typedcall cimport address_of
#     ctypedef double (*unary)(double) noexcept nogil
#
#     def total(f, int n):
#         resolved = typedcall.resolve(f, "d->d", capabilities=0)  # must outlive `call`
#         cdef unary call = <unary>address_of(resolved)
#
# Add typedcall.get_include() to the include directories when you compile.
from libc.stdint cimport uintptr_t

cdef extern from "typedcall/native_callable.h" nogil:
    ctypedef struct PyNativeCallableEntry:
        const char *signature
        uintptr_t flags
        void *funcptr
    ctypedef struct PyNativeCallableTable:
        Py_ssize_t count
        PyNativeCallableEntry entries[1]
    const uintptr_t PyNativeCallable_NEEDS_THREAD
    const uintptr_t PyNativeCallable_ACQUIRES_GIL
    const uintptr_t PyNativeCallable_MAY_RAISE
    const uintptr_t PyNativeCallable_ERROR_IS_NEG_ZERO
    const uintptr_t PyNativeCallable_RETURNS_STATUS
    const uintptr_t PyNativeCallable_TAKES_SELF
    const uintptr_t PyNativeCallable_SETS_ERRNO
    const uintptr_t PyNativeCallable_DIFFERS
    const uintptr_t PyNativeCallable_FALLS_BACK
    const uintptr_t PyNativeCallable_THREAD_SAFE
    const uintptr_t PyNativeCallable_PURE
    const uintptr_t PyNativeCallable_SHORT
    ctypedef struct PyNativeType:
        unsigned char code
        unsigned char pointer_flags
    bint PyNativeCallable_FlagsAreUsable(uintptr_t flags)
    bint PyNativeCallable_IsWellFormed(uintptr_t flags, PyNativeType result)

cdef extern from "typedcall/signature.h" nogil:
    ctypedef struct PyNativeSignature_Fault:
        size_t position
        const char *reason
    ctypedef struct PyNativeSignature:
        int nargs
        PyNativeType result
    int PyNativeSignature_ParseString(const char *text, PyNativeSignature *out,
                                      PyNativeSignature_Fault *fault)
    bint PyNativeSignature_Equivalent(const char *a, const char *b)


cdef inline void *address_of(resolved) except NULL:
    """Returns the C function behind a result of typedcall.resolve(). The pointer is valid while
    that result lives. Raises AttributeError for an object without `address`, and ValueError if
    `address` is 0."""
    cdef uintptr_t address = resolved.address
    if address == 0:
        raise ValueError("%r has no address" % (resolved,))
    return <void *>address
