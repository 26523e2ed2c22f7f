# Tests types that PyType_Freeze (3.14) has made immutable.
import ctypes
import gc
import sys
import unittest

from collected import only_if
from slot_tools import Metaclass, find, table

A, B, C = (0x01000001 | idea << 8 for idea in (1, 2, 3))


@only_if(sys.version_info >= (3, 14))  # for PyType_Freeze
class Frozen(unittest.TestCase):
    def setUp(self):
        self.freeze = ctypes.pythonapi.PyType_Freeze
        self.freeze.argtypes = [ctypes.py_object]
        self.Base = Metaclass("Base", (), {"__customslots__": {A: 1, B: 2}})
        self.freeze(self.Base)

    def test_slots_stay(self):
        self.assertEqual(table(self.Base()), [(A, 1), (B, 2)])
        self.assertEqual(find(self.Base(), B), 2)

    def test_bases_stay(self):
        class Other(metaclass=Metaclass):
            __customslots__ = {C: 3}

        class X(self.Base):
            pass

        self.freeze(X)
        with self.assertRaisesRegex(TypeError, "immutable"):
            X.__bases__ = (Other,)
        with self.assertRaisesRegex(TypeError, "immutable"):
            X.__customslots__ = {C: 3}
        self.assertEqual(table(X()), [(A, 1), (B, 2)])

    def test_subclasses_inherit_and_add(self):
        class X(self.Base):
            __customslots__ = {B: 20, C: 3}

        self.assertEqual(table(X()), [(A, 1), (B, 20), (C, 3)])

    def test_many_die(self):
        for i in range(100):
            X = Metaclass("X", (self.Base,), {"__customslots__": {C: i}})
            self.freeze(X)
            self.assertEqual(table(X()), [(A, 1), (B, 2), (C, i)])
        del X
        gc.collect()
        self.assertLess(len(self.Base.__subclasses__()), 100)
        self.assertEqual(table(self.Base()), [(A, 1), (B, 2)])
