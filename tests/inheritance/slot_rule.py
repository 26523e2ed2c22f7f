# The rule of inheritance as docs/ABI.md ("Merging") and PyExtensibleType_FromSpec state it, in plain Python
# and independent of the C code: the differential test compares the library with it.
from slot_ids import SKIP


class Rule:
    """Knows every type's own slots, and computes the tables from the MROs that Python made."""

    def __init__(self):
        self.own = {}     # type -> [(id, value), ...] as given
        self.tables = {}  # type -> [(id, value), ...] as its instances must offer them

    def add(self, cls, own=()):
        """Adds an extensible type. Call once per type, when its slots are settled."""
        self.own[cls] = list(own)
        self.tables[cls] = self.table_of(cls)

    def table_of(self, cls):
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        if not inherited:
            return list(self.own[cls])  # nothing inherited: unchanged
        # Inherited slots come first and keep their positions. With several bases these are the first base's
        # positions, because no two tables can both keep theirs.
        order = [slot for slot, _ in inherited[0]]
        # In MRO order: an own slot replaces an inherited one; among several bases, the first that brings an ID
        # as its own slot wins.
        values = {}
        for each in [cls] + bases:
            for slot, value in self.own.get(each, ()):
                values.setdefault(slot, value)
        # A base whose `__bases__` have been assigned offers slots that no class in the MRO brings.
        for slot, value in inherited[0]:
            values.setdefault(slot, value)
        # After the first base's positions no order is promised; by_id() compares those.
        order += [slot for slot in values if slot not in order and slot != SKIP]
        return [(slot, 0 if slot == SKIP else values[slot]) for slot in order]

    def promised_prefix(self, cls):
        """Returns how many positions of the table, from the first on, the rule fixes."""
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        return len(inherited[0]) if inherited else len(self.own[cls])
