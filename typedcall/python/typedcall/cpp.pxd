# Cython code in C++: the resolver of typedcall/resolve.h, which imports nothing and looks where every
# C++ consumer looks. `interface` is what PyTypedcall_Import() returned, once for each interpreter.
from cpython.ref cimport PyObject
from libc.stdint cimport uintptr_t
from libcpp cimport bool
from libcpp.string cimport string

cdef extern from "core/rendezvous.h":
    ctypedef struct PyTypedcall_Interface:
        pass
    const PyTypedcall_Interface *PyTypedcall_Import() except NULL

cdef extern from "typedcall/resolve.h" namespace "typedcall":
    cdef cppclass resolution:
        string signature
        uintptr_t flags
        void *funcptr
        PyObject *self

    # Empty with ValueError or TypeError set: see resolve_or_raise() below.
    cdef cppclass maybe_resolution "std::optional<typedcall::resolution>":
        bool has_value()
        resolution &value()

    maybe_resolution find(const PyTypedcall_Interface *, PyObject *callable, const char *signature,
                          uintptr_t can)
    maybe_resolution resolve(const PyTypedcall_Interface *, PyObject *callable,
                             const char *signature, uintptr_t can)

cdef extern from *:
    """
    #include "typedcall/resolve.h"

    /* Keeps its callable alive; false with an exception. */
    static inline bool typedcall_cython_resolve(const PyTypedcall_Interface *interface,
                                                PyObject *callable, const char *signature,
                                                uintptr_t can,
                                                typedcall::resolution *found) {
      auto made = typedcall::resolve(interface, callable, signature, can);
      if (!made) return false;
      *found = *made;
      return true;
    }
    """
    bool typedcall_cython_resolve(const PyTypedcall_Interface *, PyObject *, const char *, uintptr_t,
                                  resolution *) except False


cdef inline resolution resolve_or_raise(const PyTypedcall_Interface *interface, callable,
                                        const char *signature, uintptr_t can) except *:
    """The entry that answers `signature`; it keeps `callable` alive and, with it, the address.
    ValueError for a faulty signature, TypeError when there is none."""
    cdef resolution found
    typedcall_cython_resolve(interface, <PyObject *>callable, signature, can, &found)
    return found
