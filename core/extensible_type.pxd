# core/extensible_type.h for Cython, the provider's side: the metaclass, types with custom slots.
# The header has the documentation. Nothing here is imported at run time.
from core.slot_id cimport PyCustomSlot
from cpython.object cimport PyObject
from libc.stdint cimport uintptr_t

cdef extern from "core/extensible_type.h":
    # CPython's own, which Cython has no declarations of.
    ctypedef struct PyType_Slot:
        int slot
        void *pfunc

    ctypedef struct PyType_Spec:
        const char *name
        int basicsize
        int itemsize
        unsigned int flags
        PyType_Slot *slots

    # The interpreter's metaclass. Calling it makes a class, as calling `type` does; the key
    # `__customslots__` of its third argument, {id: capsule or int}, is the class's own slots.
    type PyExtensibleType_Import()

    # A class from a spec, with `count` slots of its own. `module` and `bases` may be NULL, so both
    # are pointers here: cast with <PyObject *>.
    object PyExtensibleType_FromSpec(PyObject *module, PyType_Spec *spec, PyObject *bases,
                                     const PyCustomSlot *slots, Py_ssize_t count)

    # For a tuple of metaclasses (ABCMeta, EnumMeta, ...) that classes are to have besides ours.
    type PyExtensibleType_CombinedMetaclass(tuple metaclasses)

    # What modules of one interpreter share. To be kept where the interpreter keeps it: not in a C
    # variable of a module that several interpreters can import.
    ctypedef struct PyTypedcall_Interface:
        pass

    const PyTypedcall_Interface *PyTypedcall_Import() except NULL

    # The slot ID that belongs to a name in this interpreter.
    uintptr_t PyCustomSlot_IDByName(const PyTypedcall_Interface *interface,
                                    const char *name) except 0
