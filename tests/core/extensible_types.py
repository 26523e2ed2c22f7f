# Functions that make extensible types with private IDs and read their slots.
import slot_tools
from slot_tools import Metaclass

__all__ = ["Metaclass", "make", "slots"]


def make(wanted, bases=None):
    """Returns a new type with the slots {idea: flags, ...}."""
    return slot_tools.make([(1 << 24 | idea << 8 | 1, flags) for idea, flags in wanted.items()], bases)


def slots(obj):
    """Returns {idea: flags, ...}, or None if the type is not extensible."""
    if not slot_tools.check(obj):
        return None
    return {slot >> 8 & 0xFFFF: flags for slot, flags in slot_tools.table(obj)}
