# core/custom_slots.h for Cython, the consumer's side: looks up the slots of an object's type.
# The header has the documentation. Nothing here is imported at run time. Callable without the GIL.
from core.slot_id cimport PyCustomSlot
from libc.stdint cimport uintptr_t

cdef extern from "core/custom_slots.h" nogil:
    bint PyCustomSlots_Check(object obj)
    Py_ssize_t PyCustomSlots_Count(object obj)
    # NULL: the type is not extensible, or its table is empty.
    PyCustomSlot *PyCustomSlots_Table(object obj)
    # NULL: the type has no such slot. No exception is set.
    PyCustomSlot *PyCustomSlots_Find(object obj, uintptr_t id, Py_ssize_t expected_pos)
