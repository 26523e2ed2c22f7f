# Cython declarations for core/custom_slots.h, which contains the documentation. Nothing is imported
# at run time. All functions can be called without the GIL.
from core.slot_id cimport PyCustomSlot
from libc.stdint cimport uintptr_t

cdef extern from "core/custom_slots.h" nogil:
    bint PyCustomSlots_Check(object obj)
    Py_ssize_t PyCustomSlots_Count(object obj)
    # Returns NULL if the type is not extensible or its table is empty.
    PyCustomSlot *PyCustomSlots_Table(object obj)
    # Returns NULL, with no exception set, if the type has no such slot.
    PyCustomSlot *PyCustomSlots_Find(object obj, uintptr_t id, Py_ssize_t expected_pos)
