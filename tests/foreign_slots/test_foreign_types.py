# Tests slots that are registered for types of other modules.
import collections
import datetime
import enum
import unittest

from collected import only_if
import libraries
from slot_tools import find_any as find, register

A, B = 0x01000101, 0x01000201


class ForeignTypes(unittest.TestCase):
    def test_builtins_and_standard_library(self):
        class Colour(enum.Enum):
            RED = 1

        for number, (kind, make) in enumerate([
                (dict, dict), (complex, complex), (bytes, bytes), (Exception, Exception),
                (datetime.date, lambda: datetime.date(2000, 1, 1)),
                (collections.OrderedDict, collections.OrderedDict),
                (Colour, lambda: Colour.RED)]):
            register(kind, {A: number})
            self.assertEqual(find(make(), A), number)
        self.assertEqual(find(collections.Counter(), A), 0, "a dict")
        self.assertEqual(find(datetime.datetime(2000, 1, 1), A), 4)
        self.assertEqual(find(KeyError(), A), 3)
        self.assertIsNone(find([], A))
        with self.assertRaisesRegex(ValueError, "with other data"):
            register(dict, {A: 5})

    def test_abstract_subclasses_are_no_subclasses(self):
        class Virtual(collections.abc.Sized):
            pass

        register(Virtual, {A: 1})
        Virtual.register(str)
        self.assertIsNone(find("a", A))

    @only_if(libraries.is_expected("numpy"))
    def test_numpy(self):
        import numpy
        register(numpy.ndarray, {A: 5})
        register(numpy.float64, {B: 6})

        class Sub(numpy.ndarray):
            pass

        self.assertEqual(find(numpy.zeros(3), A), 5)
        self.assertEqual(find(numpy.zeros(3).view(Sub), A), 5)
        self.assertEqual(find(numpy.ma.zeros(3), A), 5)
        self.assertEqual(find(numpy.float64(1), B), 6)
        self.assertIsNone(find(numpy.float32(1), B))
