# Uses every name that the files core/*.pxd declare, for test_pxd.py.
from core.custom_slots cimport (PyCustomSlots_Check, PyCustomSlots_Count, PyCustomSlots_Find,
                                PyCustomSlots_Table)
from core.extensible_type cimport (PyCustomSlot_IDByName, PyExtensibleType_CombinedMetaclass,
                                   PyExtensibleType_FromSpec, PyExtensibleType_Import, PyType_Slot,
                                   PyType_Spec, PyTypedcall_Import)
from core.slot_id cimport *
from cpython.object cimport PyObject, Py_TPFLAGS_BASETYPE, Py_TPFLAGS_DEFAULT
from libc.stdint cimport uintptr_t

ID_EMPTY, ID_SKIP = PyCustomSlot_ID_EMPTY, PyCustomSlot_ID_SKIP
ID_NATIVECALLABLE = PyCustomSlot_ID_NATIVECALLABLE
REGISTRARS = (PyCustomSlot_REGISTRAR_RESERVED, PyCustomSlot_REGISTRAR_PRIVATE,
              PyCustomSlot_REGISTRAR_CYTHON, PyCustomSlot_REGISTRAR_NUMPY,
              PyCustomSlot_REGISTRAR_NUMFOCUS, PyCustomSlot_REGISTRAR_TYPEDCALL,
              PyCustomSlot_REGISTRAR_RUNTIME)


def make_id(registrar, idea, version):
    return PyCustomSlot_ID(registrar, idea, version)


def parts(uintptr_t id):
    return (PyCustomSlot_ID_REGISTRAR(id), PyCustomSlot_ID_IDEA(id), PyCustomSlot_ID_VERSION(id))


def kind(uintptr_t id):
    return PyCustomSlot_IsValidID(id), PyCustomSlot_IsAllocatedID(id)


def pointer_id_is_the_address():
    cdef long something = 0
    return PyCustomSlot_POINTER_ID(&something) == <uintptr_t>&something


def metaclass():
    return PyExtensibleType_Import()


def combined(*metaclasses):
    return PyExtensibleType_CombinedMetaclass(metaclasses)


def id_by_name(name):
    return PyCustomSlot_IDByName(PyTypedcall_Import(), name)


def make(uintptr_t id, flags, Py_ssize_t offset, base):
    """Makes a class with two slots from a spec."""
    cdef PyType_Slot nothing = PyType_Slot(0, NULL)
    # The name must stay alive, because types before 3.11 do not copy it.
    cdef PyType_Spec spec = PyType_Spec(
        b"pxd_module.Made", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, &nothing)
    cdef PyCustomSlot slots[2]
    slots[0].id = id
    slots[0].data.flags = flags
    slots[1].id = id + 2
    slots[1].data.objoffset = offset
    return PyExtensibleType_FromSpec(NULL, &spec, <PyObject *>base, slots, 2)


def read(obj, uintptr_t id, Py_ssize_t expected):
    """Returns (flags of the slot or None, whether `obj` is extensible, number of slots, position of
    the slot or None)."""
    cdef const PyCustomSlot *slot = PyCustomSlots_Find(obj, id, expected)
    where = slot - PyCustomSlots_Table(obj) if slot is not NULL else None
    return (slot.data.flags if slot is not NULL else None, PyCustomSlots_Check(obj),
            PyCustomSlots_Count(obj), where)


def offset(obj, uintptr_t id):
    return PyCustomSlots_Find(obj, id, 0).data.objoffset


def find_without_the_gil(obj, uintptr_t id):
    cdef uintptr_t found = 0
    cdef const PyCustomSlot *slot
    with nogil:
        slot = PyCustomSlots_Find(obj, id, 0)
        if slot is not NULL:
            found = slot.data.flags
    return found
