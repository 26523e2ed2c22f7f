# Tests the size of an extensible type object. memory_test.cc counts allocations.
import sys
import unittest

from slot_ids import slots
from slot_tools import Metaclass, address, make

ALLOWED = 48


class Memory(unittest.TestCase):
    def test_a_type_object(self):
        more = Metaclass.__basicsize__ - type.__basicsize__
        self.assertGreaterEqual(more, 24, "count, table and magic")
        self.assertLessEqual(more, ALLOWED)
        self.assertEqual(Metaclass.__itemsize__, type.__itemsize__)

    def test_derived_metaclasses_add_nothing_of_ours(self):
        derived = type("Meta", (Metaclass,), {})
        self.assertEqual(derived.__basicsize__ - Metaclass.__basicsize__,
                         type("Meta", (type,), {}).__basicsize__ - type.__basicsize__)

    def test_instances_are_no_larger(self):
        base = make(slots((1, 11), (2, 22)))

        class Plain:
            pass

        class Slotted:
            __slots__ = ("a", "b")

        for plain, space in ((Plain, {}), (Slotted, {"__slots__": ("a", "b")})):
            ours = type("C", (base,), space)
            self.assertEqual(ours.__basicsize__, plain.__basicsize__)
            self.assertEqual(sys.getsizeof(ours()), sys.getsizeof(plain()))

    def test_subclasses_share_the_table(self):
        base = make(slots((1, 11), (2, 22)))
        table = address(base())
        cls = base
        for _ in range(100):
            cls = type("C", (cls,), {"attribute": 1})
            self.assertEqual(address(cls()), table)
        self.assertNotEqual(address(make(slots((1, 11), (2, 22)))()), table)
