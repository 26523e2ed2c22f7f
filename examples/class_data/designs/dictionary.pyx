# A dict has the unit of each class.
cdef extern from "examples/class_data/units.h":
    ctypedef struct mass_unit:
        const char *class_name
        const char *symbol
    const mass_unit units[]
    const size_t unit_count

known = {}


cdef class Unit:
    """A value of the dict. It has the address as a C field."""

    cdef const mass_unit *address


cdef class Mass:
    """The base class of all masses."""

    cdef object amount

    def __init__(self, amount=1):
        self.amount = amount

    def text(self):
        cdef Unit unit = known[type(self)]  # KeyError for a subclass
        return f"{self.amount} {unit.address.symbol.decode()}"


cdef object make(const mass_unit *address):
    cdef Unit unit = Unit()
    unit.address = address
    made = type(address.class_name.decode(), (Mass,), {"__module__": __name__})
    known[made] = unit
    return made


cdef size_t at
for at in range(unit_count):
    globals()[units[at].class_name.decode()] = make(units + at)
