"""Random sets of overloads of one Python function: every library that calls its C functions gives what the
function gives, or the same kind of error. What differs yet is in tests/expected.toml, by library and situation."""
import collections
import itertools
import os
import unittest

import adapter_support
import matrix_sinks
import overload_support
import support
import typedcall

support.module_only_if(not support.IS_PYPY, "the libraries are used with CPython's package")

#: In --full, which has a seed of its own, there is time for more.
MORE = 4 if "TYPEDCALL_SEED" in os.environ else 1


class TheModel(unittest.TestCase):
    def test_it_chooses_as_the_wrappers_do(self):
        sets = [name.split()[1:] for name in dir(overload_support.functions) if name.startswith("of ")]
        self.assertEqual(len(sets), 9)
        for overloads in sets:
            wrapper = getattr(overload_support.functions, " ".join(["of", *overloads]))
            model = overload_support.boxed(overloads)
            for arguments in itertools.product(overload_support.VALUES, repeat=len(overloads[0])):
                found, expected = (overload_support.result_of(lambda f=f: f(*arguments), self.kind)
                                   for f in (model, wrapper))
                self.assertEqual((found, type(found)), (expected, type(expected)), (overloads, arguments))

    @staticmethod
    def kind(error):
        return type(error).__name__


class Library:
    """The comparison with one sink, once for all situations."""

    sink = ""
    #: Sets of overloads, and calls of each.
    count, calls = 0, 6

    @classmethod
    def setUpClass(cls):
        made = matrix_sinks.SINKS[cls.sink]()
        adapter_support.library(made.library)
        made.setUp()
        cls.addClassCleanup(made.close)
        cls.compared, cls.different = collections.Counter(), collections.defaultdict(list)
        seed = support.seeds.seed(1)
        for number, (overloads, calls) in enumerate(overload_support.drawn(seed, cls.count * MORE, cls.calls)):
            f = overload_support.tagged(overloads, number)
            call = made.made(f)
            for arguments in calls:
                situation = overload_support.situation(overloads, arguments)
                expected = overload_support.result_of(lambda: f(*arguments), made.kind_of)
                try:
                    for value in arguments:
                        made.crossing(value)
                    found = overload_support.result_of(lambda: made.result(call(*arguments), expected), made.kind_of)
                except matrix_sinks.Refused:
                    continue
                cls.compared[situation] += 1
                if not overload_support.agree(found, expected, overloads, arguments):
                    cls.different[situation].append("%s of %s: %r, not %r" % (
                        overloads, arguments, found, expected))
            typedcall.untag(f)

    def check(self, situation):
        wrong, count = self.different[situation], self.compared[situation]
        self.assertGreater(count, 0)
        self.assertEqual(len(wrong), 0, "%s, and %d of %d calls differ: %s" % (
            overload_support.SITUATIONS[situation], len(wrong), count, "; ".join(wrong[:3])))

    def test_one(self):
        self.check("one")

    def test_truth(self):
        self.check("truth")

    def test_first(self):
        self.check("first")

    def test_better(self):
        self.check("better")

    def test_room(self):
        self.check("room")

    def test_no_room(self):
        self.check("no_room")

    def test_none_suits(self):
        self.check("none_suits")


class SQLite(Library, unittest.TestCase):
    sink, count = "sqlite", 300


class DuckDB(Library, unittest.TestCase):
    sink, count = "duckdb", 200


class TvmFfi(Library, unittest.TestCase):
    sink, count = "tvm-ffi", 800


class JAX(Library, unittest.TestCase):
    sink, count = "jax", 60


class NumPy(Library, unittest.TestCase):
    sink, count = "ufunc", 500


class Numba(Library, unittest.TestCase):
    sink, count, calls = "numba", 30, 4


if __name__ == "__main__":
    unittest.main()
