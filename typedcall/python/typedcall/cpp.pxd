# The resolver of typedcall/resolve.h for Cython code in C++. The resolver does not import the
# Python package. `interface` is the result of PyTypedcall_Import(), which is called once per
# interpreter.
from cpython.ref cimport PyObject
from libc.stdint cimport uintptr_t
from libcpp cimport bool

cdef extern from "core/rendezvous.h":
    ctypedef struct PyTypedcall_Interface:
        pass
    const PyTypedcall_Interface *PyTypedcall_Import() except NULL

cdef extern from "typedcall/resolve.h" namespace "typedcall":
    cdef cppclass signature_copy:
        const char *c_str()
    cdef cppclass resolution:
        signature_copy signature
        uintptr_t flags
        void *funcptr
        PyObject *self

    # Empty if nothing was found; resolve() then also sets an exception. See resolve_or_raise()
    # below.
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

    /* The result keeps its callable alive. On failure, returns false with an exception set. */
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
    """Returns the entry that matches `signature`. The result keeps `callable` alive. Raises
    ValueError for a faulty signature, and TypeError if no entry fits."""
    cdef resolution found
    typedcall_cython_resolve(interface, <PyObject *>callable, signature, can, &found)
    return found
