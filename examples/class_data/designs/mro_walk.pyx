# As in metaclass.pyx, the metaclass adds a C field. A class whose field is NULL uses the unit of the
# first class in its MRO that has one.
cdef extern from "examples/class_data/units.h":
    ctypedef struct mass_unit:
        const char *class_name
        const char *symbol
    const mass_unit units[]
    const size_t unit_count


cdef class WithUnit(type):
    """The metaclass."""

    cdef const mass_unit *unit


cdef const mass_unit *nearest(type cls) except NULL:
    for each in cls.__mro__:  # begins with the class itself
        if isinstance(each, WithUnit) and (<WithUnit>each).unit is not NULL:
            return (<WithUnit>each).unit
    raise TypeError(f"{cls} derives from no class with a unit")


cdef class Mass:
    """The base class of all masses."""

    cdef object amount

    def __init__(self, amount=1):
        self.amount = amount

    def text(self):
        return f"{self.amount} {nearest(type(self)).symbol.decode()}"


cdef object make(const mass_unit *unit):
    cdef WithUnit made = WithUnit(unit.class_name.decode(), (Mass,), {"__module__": __name__})
    made.unit = unit
    return made


cdef size_t at
for at in range(unit_count):
    globals()[units[at].class_name.decode()] = make(units + at)
