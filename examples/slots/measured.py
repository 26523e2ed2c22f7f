"""The object whose address is a slot's pointer ID. The object has no other purpose; both sides only
import it."""


class Measured:
    """The idea of numbers with a unit: the slot's ID is this class's address, and its pointer is
    the unit's name."""
