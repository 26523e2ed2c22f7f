# The rule of inheritance from docs/ABI.md ("Merging") in plain Python, without the C code.
from slot_ids import SKIP


class Rule:
    """Stores the own slots of each type, and computes the tables from the MROs."""

    def __init__(self):
        self.own = {}     # type -> own slots [(id, value), ...]
        self.tables = {}  # type -> all slots [(id, value), ...]

    def add(self, cls, own=()):
        """Adds an extensible type. Must be called when the slots are resolved."""
        self.own[cls] = list(own)
        self.tables[cls] = self.table_of(cls)

    def table_of(self, cls):
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        if not inherited:
            return list(self.own[cls])
        # Inherited slots come first and keep their positions. With several bases, only the first
        # table keeps its positions.
        order = [slot for slot, _ in inherited[0]]
        # For each ID, the first class in the MRO with such a slot wins.
        values = {}
        for each in [cls] + bases:
            for slot, value in self.own.get(each, ()):
                values.setdefault(slot, value)
        # After an assignment to `__bases__`, a base may have slots that no class in the MRO has.
        for slot, value in inherited[0]:
            values.setdefault(slot, value)
        # The order of the other slots is unspecified.
        order += [slot for slot in values if slot not in order and slot != SKIP]
        return [(slot, 0 if slot == SKIP else values[slot]) for slot in order]

    def promised_prefix(self, cls):
        """Returns the number of positions with a specified order."""
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        return len(inherited[0]) if inherited else len(self.own[cls])
