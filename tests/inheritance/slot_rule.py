# The rule of inheritance as docs/ABI.md ("Merging") and PyExtensibleType_FromSpec state it, in
# plain Python and without a look at the C code: what the differential test compares the library
# with.
from slot_ids import SKIP


class Rule:
    """Knows every type's own slots, and works out the tables from the MROs that Python made."""

    def __init__(self):
        self.own = {}     # type -> [(id, value), ...] as it was given
        self.tables = {}  # type -> [(id, value), ...] as its instances must offer it

    def add(self, cls, own=()):
        """To be called once per extensible type, when its slots are settled."""
        self.own[cls] = list(own)
        self.tables[cls] = self.table_of(cls)

    def table_of(self, cls):
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        if not inherited:
            return list(self.own[cls])  # nothing inherited: as it stands
        # Inherited slots keep their positions and come first. With several bases, those positions
        # are the first base's, since no two tables can both keep theirs.
        order = [slot for slot, _ in inherited[0]]
        # In MRO order: an own slot takes the place of an inherited one, of several bases the first
        # that brings an ID wins. "Brings" means: as its own.
        values = {}
        for each in [cls] + bases:
            for slot, value in self.own.get(each, ()):
                values.setdefault(slot, value)
        # A base whose `__bases__` have been assigned offers slots that nobody in the MRO brings.
        for slot, value in inherited[0]:
            values.setdefault(slot, value)
        # Behind the first base's positions no order is promised; by_id() compares those.
        order += [slot for slot in values if slot not in order and slot != SKIP]
        return [(slot, 0 if slot == SKIP else values[slot]) for slot in order]

    def promised_prefix(self, cls):
        """How many positions of the table, from the first on, are fixed by the rule."""
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        return len(inherited[0]) if inherited else len(self.own[cls])
