# A variable of the module has the address of the unit. Another class would need a variable and a
# method of its own.
cdef extern from "examples/class_data/units.h":
    ctypedef struct mass_unit:
        const char *symbol
    const mass_unit units[]

cdef const mass_unit *unit_of_ounce = &units[0]


cdef class Ounce:
    """A mass in ounces."""

    cdef object amount

    def __init__(self, amount=1):
        self.amount = amount

    def text(self):
        return f"{self.amount} {unit_of_ounce.symbol.decode()}"
