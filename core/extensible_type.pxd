# Cython declarations for core/extensible_type.h, which contains the documentation. Nothing is
# imported at run time.
from core.slot_id cimport PyCustomSlot
from cpython.object cimport PyObject
from libc.stdint cimport uintptr_t

cdef extern from "core/extensible_type.h":
    # CPython's structs, which Cython does not declare.
    ctypedef struct PyType_Slot:
        int slot
        void *pfunc

    ctypedef struct PyType_Spec:
        const char *name
        int basicsize
        int itemsize
        unsigned int flags
        PyType_Slot *slots

    # Returns the interpreter's metaclass. Calling it makes a class, as calling `type` does. The
    # third argument may contain `__customslots__`, a dict {id: capsule or int}.
    type PyExtensibleType_Import()

    # Makes a class from a spec, with `count` slots of its own. `module` and `bases` may be NULL.
    # Cast objects with <PyObject *>.
    object PyExtensibleType_FromSpec(PyObject *module, PyType_Spec *spec, PyObject *bases,
                                     const PyCustomSlot *slots, Py_ssize_t count)

    # Combines our metaclass with a tuple of metaclasses (ABCMeta, EnumMeta, ...).
    type PyExtensibleType_CombinedMetaclass(tuple metaclasses)

    # The modules of one interpreter share this struct. If several interpreters can import a module,
    # keep the pointer in the module's state, not in a C variable.
    ctypedef struct PyTypedcall_Interface:
        pass

    const PyTypedcall_Interface *PyTypedcall_Import() except NULL

    # Returns the slot ID of a name in this interpreter.
    uintptr_t PyCustomSlot_IDByName(const PyTypedcall_Interface *interface,
                                    const char *name) except 0
