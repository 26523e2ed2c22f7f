# The module of greetings_cpp.cc in Cython.
from core.custom_slots cimport PyCustomSlots_Find
from core.extensible_type cimport PyExtensibleType_Import
from core.slot_id cimport PyCustomSlot
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uintptr_t

cdef extern from "examples/class_data/greetings.h":
    ctypedef struct greeting_class:
        const char *name
        const char *sentence
    const greeting_class greetings[]

cdef extern from "examples/class_data/greeting_slot.h":
    const uintptr_t GREETING_SLOT_ID


cdef class Greet:
    """The base class of all greetings."""

    cdef object _name  # `cdef str` would refuse subclasses of str

    def __cinit__(self, *args, **kwargs):
        self._name = "World"  # a subclass need not call super().__init__()

    def __init__(self, name="World"):
        if not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        self._name = name

    @property
    def name(self):
        """The name of the person to greet."""
        return self._name

    def greet(self):
        """Returns the class's sentence, addressed to the name."""
        cdef const PyCustomSlot *slot = PyCustomSlots_Find(self, GREETING_SLOT_ID, 0)
        if slot is NULL:
            raise TypeError(f"{type(self)} has no greeting")
        sentence = (<const greeting_class *>slot.data.pointer).sentence
        return f"{sentence.decode()} {self._name}!"

    def __reduce__(self):
        # For pickle and copy. Returns the class, the name, and the attributes that Python code has
        # added. A subclass with __slots__ must pickle its slots itself.
        state = getattr(self, "__dict__", None)
        return (type(self), (self._name,)) if state is None else (type(self), (self._name,), state)


cdef object make_class(type metaclass, const greeting_class *greeting):
    return metaclass(greeting.name.decode(), (Greet,), {
        "__module__": __name__,
        "__slots__": (),
        "__customslots__": {GREETING_SLOT_ID: PyCapsule_New(<void *>greeting, NULL, NULL)},
    })


cdef Py_ssize_t i = 0
while greetings[i].name is not NULL:
    globals()[greetings[i].name.decode()] = make_class(PyExtensibleType_Import(), &greetings[i])
    i += 1
