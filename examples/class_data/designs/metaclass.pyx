# The metaclass adds a C field to its classes. In a class that a class statement makes, the field is
# NULL, and text() crashes.
cdef extern from "examples/class_data/units.h":
    ctypedef struct mass_unit:
        const char *class_name
        const char *symbol
    const mass_unit units[]
    const size_t unit_count


cdef class WithUnit(type):
    """The metaclass."""

    cdef const mass_unit *unit


cdef class Mass:
    """The base class of all masses."""

    cdef object amount

    def __init__(self, amount=1):
        self.amount = amount

    def text(self):
        # Neither the cast nor the access to the field is checked.
        symbol = (<WithUnit>type(self)).unit.symbol
        return f"{self.amount} {symbol.decode()}"


cdef object make(const mass_unit *unit):
    cdef WithUnit made = WithUnit(unit.class_name.decode(), (Mass,), {"__module__": __name__})
    made.unit = unit
    return made


cdef size_t at
for at in range(unit_count):
    globals()[units[at].class_name.decode()] = make(units + at)
