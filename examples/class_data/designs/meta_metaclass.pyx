# Each class has a metaclass of its own, which has the unit and which subclasses inherit. The C field
# comes from the type of these metaclasses. It is NULL in a metaclass made by a class statement.
cdef extern from "examples/class_data/units.h":
    ctypedef struct mass_unit:
        const char *class_name
        const char *symbol
    const mass_unit units[]
    const size_t unit_count


cdef class MetaWithUnit(type):
    """The type of the metaclasses."""

    cdef const mass_unit *unit


cdef class Mass:
    """The base class of all masses."""

    cdef object amount

    def __init__(self, amount=1):
        self.amount = amount

    def text(self):
        # Neither the cast nor the access to the field is checked.
        symbol = (<MetaWithUnit>type(type(self))).unit.symbol
        return f"{self.amount} {symbol.decode()}"


cdef object make(const mass_unit *unit):
    cdef dict space = {"__module__": __name__}
    name = unit.class_name.decode()
    cdef MetaWithUnit metaclass = MetaWithUnit(name + "Type", (type,), dict(space))
    metaclass.unit = unit
    return metaclass(name, (Mass,), space)


cdef size_t at
for at in range(unit_count):
    globals()[units[at].class_name.decode()] = make(units + at)
