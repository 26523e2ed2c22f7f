# The module of units_cpp.cc in Cython.
from core.custom_slots cimport PyCustomSlots_Find
from core.extensible_type cimport PyExtensibleType_Import
from core.slot_id cimport PyCustomSlot
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uintptr_t

cdef extern from "examples/class_data/units.h":
    ctypedef struct mass_unit:
        const char *class_name
        const char *symbol
    const mass_unit units[]
    const size_t unit_count

cdef extern from "examples/class_data/unit_slot.h":
    const uintptr_t UNIT_SLOT_ID


cdef class Mass:
    """The base class of all masses."""

    cdef object _amount  # an int or a float

    def __cinit__(self, *args, **kwargs):
        self._amount = 1  # a subclass need not call super().__init__()

    def __init__(self, amount=1):
        if not isinstance(amount, (int, float)):
            raise TypeError(f"amount must be an int or a float, not {type(amount).__name__}")
        self._amount = amount

    @property
    def amount(self):
        """The number of units."""
        return self._amount

    def text(self):
        """Returns the amount and the symbol of the unit."""
        cdef const PyCustomSlot *slot = PyCustomSlots_Find(self, UNIT_SLOT_ID, 0)
        if slot is NULL:
            raise TypeError(f"{type(self)} has no unit")
        symbol = (<const mass_unit *>slot.data.pointer).symbol
        return f"{self._amount!s} {symbol.decode()}"

    def __reduce__(self):
        # For pickle and copy. Returns the class, the amount, and the attributes that Python code
        # has added. A subclass with __slots__ must pickle its slots itself.
        state = getattr(self, "__dict__", None)
        return (type(self), (self._amount,)) if state is None else (type(self), (self._amount,), state)


cdef object make_class(type metaclass, const mass_unit *unit):
    return metaclass(unit.class_name.decode(), (Mass,), {
        "__module__": __name__,
        "__slots__": (),
        "__customslots__": {UNIT_SLOT_ID: PyCapsule_New(<void *>unit, NULL, NULL)},
    })


cdef size_t i
for i in range(unit_count):
    globals()[units[i].class_name.decode()] = make_class(PyExtensibleType_Import(), &units[i])
