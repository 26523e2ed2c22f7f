# The rule of inheritance from docs/ABI.md (1.14 and 1.15) in plain Python, without the C code.
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
        others = [other for other in cls.__mro__ if other is not cls]
        tables = [self.tables[other] for other in others if self.tables.get(other)]
        if not tables:
            return list(self.own[cls])
        # Own slots in MRO order, then the tables: what they still have from former bases.
        sources = [self.own[cls]] + [self.own.get(other, []) for other in others] + tables
        ids = [slot for slot, _ in tables[0]]
        values = {}
        for source in sources:
            for slot, value in source:
                if slot == SKIP:
                    continue
                values.setdefault(slot, value)
                if slot not in ids:
                    ids.append(slot)
        return [(slot, 0 if slot == SKIP else values[slot]) for slot in ids]
