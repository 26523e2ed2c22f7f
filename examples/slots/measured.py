"""The object whose address is a slot's pointer ID. It does nothing else: both sides only import it."""


class Measured:
    """The idea of numbers with a unit: the slot's ID is this class's address, its pointer the unit's name."""
