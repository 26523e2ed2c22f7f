"""The object whose address is a slot's pointer ID. It does nothing: both sides only know it."""


class Measured:
    """Numbers with a unit: the slot's ID is the address of this class, its pointer the unit's name."""
