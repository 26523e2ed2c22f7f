# Cython declarations for core/slot_id.h, which contains the documentation. Nothing is imported at
# run time.
from libc.stdint cimport uintptr_t

cdef extern from "core/slot_id.h" nogil:
    ctypedef union PyCustomSlot_Data "__typeof__(((PyCustomSlot *)0)->data)":
        void *pointer
        Py_ssize_t objoffset
        uintptr_t flags

    ctypedef struct PyCustomSlot:
        uintptr_t id
        PyCustomSlot_Data data

    const uintptr_t PyCustomSlot_ID_EMPTY
    const uintptr_t PyCustomSlot_ID_SKIP
    const uintptr_t PyCustomSlot_ID_NATIVECALLABLE

    const unsigned int PyCustomSlot_REGISTRAR_RESERVED
    const unsigned int PyCustomSlot_REGISTRAR_PRIVATE
    const unsigned int PyCustomSlot_REGISTRAR_CYTHON
    const unsigned int PyCustomSlot_REGISTRAR_NUMPY
    const unsigned int PyCustomSlot_REGISTRAR_NUMFOCUS
    const unsigned int PyCustomSlot_REGISTRAR_TYPEDCALL
    const unsigned int PyCustomSlot_REGISTRAR_RUNTIME

    uintptr_t PyCustomSlot_ID(unsigned int registrar, unsigned int idea, unsigned int version)
    uintptr_t PyCustomSlot_POINTER_ID(const void *address)
    unsigned int PyCustomSlot_ID_REGISTRAR(uintptr_t id)
    unsigned int PyCustomSlot_ID_IDEA(uintptr_t id)
    unsigned int PyCustomSlot_ID_VERSION(uintptr_t id)
    bint PyCustomSlot_IsValidID(uintptr_t id)
    bint PyCustomSlot_IsAllocatedID(uintptr_t id)
