# Tests extensible types and the module of their metaclass in Python code.
import inspect
import sys
import unittest

from extensible_types import Metaclass, make

Base = make({1: 11, 2: 22})


class Derived(Base):
    pass


class Introspection(unittest.TestCase):
    def test_classes(self):
        self.assertIn("slot_tools.Made", repr(Base))
        self.assertEqual(inspect.getmro(Derived), (Derived, Base, object))
        self.assertIn(Derived, Base.__subclasses__())
        self.assertIn("__dict__", dir(Derived))
        self.assertIsInstance(Metaclass.__basicsize__, int)
        self.assertEqual(repr(Metaclass), "<class '_extensibletype.extensibletype_v2'>")
        self.assertGreater(sys.getsizeof(Derived), 0)

    def test_the_interface_module(self):
        module = sys.modules["_extensibletype"]
        self.assertIs(module.extensibletype_v2, Metaclass)
        self.assertIn("typedcall_v2", repr(module.typedcall_v2))
