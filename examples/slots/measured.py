"""The object whose address is a slot's pointer ID."""


class Measured:
    """Numbers with a unit. The ID of the slot is the address of this class, and its pointer is the
    name of the unit."""
