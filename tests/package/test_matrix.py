"""The matrix: every sink (matrix_sinks.py) has every property (matrix_properties.py), but for what matrix_expected.json
lists: a cell there has to fail, and its line goes when it does not; and a function that a sink refuses is refused
with all its values. Here are the sinks that take a second; test_matrix_full.py has those that compile."""
import collections
import json
import pathlib
import sys
import unittest
import warnings

import adapter_support
import matrix_sinks
import support

EXPECTED = pathlib.Path(__file__).resolve().with_name("matrix_expected.json")
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


class Matrix:
    """For classes that have the name of a `sink`."""

    sink = ""

    @classmethod
    def setUpClass(cls):
        cls.made = matrix_sinks.SINKS[cls.sink]()
        if cls.made.library is not None:
            adapter_support.library(cls.made.library)
        cls.made.setUp()
        cls.addClassCleanup(cls.made.close)
        with open(EXPECTED, encoding="utf-8") as file:
            found = json.load(file)
        cls.expected, cls.refused = (found[each].get(cls.sink, {}) for each in ("wrong", "refused"))

    def check(self, name):
        import matrix_properties

        wrong, asked, outcomes = {}, set(), collections.defaultdict(set)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of what overflows and of complex numbers
            for cell, outcome, what in matrix_properties.PROPERTIES[name](self.made):
                asked.add(cell)
                outcomes[cell.partition("(")[0]].add(outcome)
                self.assertTrue(what, cell)
                if outcome == "wrong":
                    wrong[cell] = what
        listed = self.expected.get(name, [])
        self.assertEqual({cell: what for cell, what in wrong.items() if cell not in listed}, {})
        # Without NumPy there are none of its scalars.
        right = [cell for cell in listed if cell not in wrong and (cell in asked or "np." not in cell)]
        self.assertEqual(right, [], "listed, and right, or not asked")
        refused = [function for function, found in outcomes.items() if found == {"refused"}]
        self.assertEqual("*" if len(refused) == len(outcomes) else " ".join(refused), self.refused.get(name, ""))

    def test_choice(self):
        self.check("choice")

    def test_equality(self):
        self.check("equality")

    def test_raising(self):
        self.check("raising")

    def test_status(self):
        self.check("status")

    def test_falling_back(self):
        self.check("falling_back")

    def test_texts(self):
        self.check("texts")

    def test_defaults(self):
        self.check("defaults")

    def test_by_position(self):
        self.check("by_position")

    @support.only_if(HAS_GIL)
    @support.timing
    def test_holding(self):
        self.check("holding")


def of(name, sink):
    """The cases of a sink, as a class of that name."""
    is_here = matrix_sinks.SINKS[sink].is_on_pypy == support.IS_PYPY
    return support.only_if(is_here)(type(name, (Matrix, unittest.TestCase), {"sink": sink}))


Wrapper = of("Wrapper", "wrapper")
TypedFunction = of("TypedFunction", "typed function")
Ufunc = of("Ufunc", "ufunc")
Sqlite = of("Sqlite", "sqlite")
TvmFfi = of("TvmFfi", "tvm-ffi")
Closure = of("Closure", "closure")
FreeClosure = of("FreeClosure", "free closure")
CallSite = of("CallSite", "call site")
Fallback = of("Fallback", "fallback")
Loop = of("Loop", "loop")
CppCallback = of("CppCallback", "C++ callback")
Callback = of("Callback", "callback")
FreeCallback = of("FreeCallback", "free callback")
ConvertingCallback = of("ConvertingCallback", "converting callback")
ClosurePointer = of("ClosurePointer", "closure pointer")
LowLevelCallable = of("LowLevelCallable", "LowLevelCallable")
Ctypes = of("Ctypes", "ctypes")
Cffi = of("Cffi", "cffi")
PyPyWrapper = of("PyPyWrapper", "pypy wrapper")
PyPyTypedFunction = of("PyPyTypedFunction", "pypy typed function")
PyPy = of("PyPy", "pypy")


class Expected(unittest.TestCase):
    def test_each_sink_with_a_fault_has_a_reason(self):
        with open(EXPECTED, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(list(found["why"]), list(found["wrong"]))
        self.assertEqual([name for name in (*found["wrong"], *found["refused"]) if name not in matrix_sinks.SINKS], [])


if __name__ == "__main__":
    unittest.main()
