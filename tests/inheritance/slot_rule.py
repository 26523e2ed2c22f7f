# The rule of inheritance from docs/ABI.md ("Merging") and PyExtensibleType_FromSpec, in plain Python and independent of
# the C code. The differential test compares the library with this rule.
from slot_ids import SKIP


class Rule:
    """Stores every type's own slots, and computes the tables from Python's MROs."""

    def __init__(self):
        self.own = {}     # type -> its own slots [(id, value), ...]
        self.tables = {}  # type -> the slots [(id, value), ...] that its instances must offer

    def add(self, cls, own=()):
        """Adds an extensible type. Call this once for each type, when its slots are resolved."""
        self.own[cls] = list(own)
        self.tables[cls] = self.table_of(cls)

    def table_of(self, cls):
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        if not inherited:
            return list(self.own[cls])  # if nothing is inherited, these are all
        # Inherited slots come first and keep their positions. With several bases, only the first base's positions are
        # kept, because two tables cannot both keep theirs.
        order = [slot for slot, _ in inherited[0]]
        # The MRO decides: an own slot replaces an inherited one, and the first base that has an ID as its own slot
        # wins.
        values = {}
        for each in [cls] + bases:
            for slot, value in self.own.get(each, ()):
                values.setdefault(slot, value)
        # A base whose `__bases__` have been reassigned may offer slots that no class in the MRO has as its own.
        for slot, value in inherited[0]:
            values.setdefault(slot, value)
        # The order of the slots after the first base's slots is unspecified, so tests compare these
        # by ID.
        order += [slot for slot in values if slot not in order and slot != SKIP]
        return [(slot, 0 if slot == SKIP else values[slot]) for slot in order]

    def promised_prefix(self, cls):
        """Returns how many positions at the beginning of the table the rule fixes."""
        bases = [base for base in cls.__mro__ if base is not cls]
        inherited = [self.tables[base] for base in bases if self.tables.get(base)]
        return len(inherited[0]) if inherited else len(self.own[cls])
