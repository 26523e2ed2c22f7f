"""Tests the matrix: every sink (matrix_sinks.py) has every property (matrix_properties.py). Cells listed in
matrix_expected.json must fail. If such a cell passes, its line must be removed. This file tests the fast sinks."""
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


class Cells:
    """A base class for the tests of a sink. Subclasses set `sink`."""

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
        cls.expected, cls.by_value, cls.refused = (found[each].get(cls.sink, {}) for each in ("wrong", "by value", "refused"))
        if isinstance(cls.by_value, str):  # another sink's
            cls.by_value = found["by value"][cls.by_value]

    def check(self, name):
        import matrix_properties

        wrong, asked, by_value, outcomes = {}, set(), [], collections.defaultdict(set)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns about overflow
            for cell, outcome, what in matrix_properties.PROPERTIES[name](self.made):
                asked.add(cell)
                outcomes[cell.partition("(")[0]].add(outcome)
                self.assertTrue(what, cell)
                if outcome == "by value":
                    by_value.append(cell)
                if outcome == "wrong":
                    wrong[cell] = what
        listed = self.expected.get(name, [])
        self.assertEqual({cell: what for cell, what in wrong.items() if cell not in listed}, {})
        # Without NumPy, there are no cells for its scalars.
        right = [cell for cell in listed if cell not in wrong and (cell in asked or "np." not in cell)]
        self.assertEqual(right, [], "listed, and right, or not asked")
        self.assertEqual(by_value, self.by_value.get(name, []), "calls that the sink refuses because their values decide")
        self.assertEqual(refusals(outcomes), self.refused.get(name, ""))


def refusals(outcomes):
    """Returns the names of the functions that a sink always refuses, or "*" for all functions. Limits are ignored,
    because they depend on versions."""
    refused = [function for function, found in outcomes.items() if "refused" in found and found <= {"refused", "limit"}]
    asked = [function for function, found in outcomes.items() if found != {"limit"}]
    return "*" if refused and refused == asked else " ".join(refused)


def cases(base, *names):
    """Returns a subclass of `base` with a test for each of these properties."""
    return type("Cases", (base,), {f"test_{name}": lambda self, name=name: self.check(name) for name in names})


#: The properties of results and exceptions.
Values = cases(Cells, "choice", "equality", "raising", "status", "falling_back")
#: All properties of single calls.
Calls = cases(Values, "native", "texts", "defaults", "by_position", "threads")
#: The properties that are tested in separate processes.
Processes = cases(Cells, "lifetimes", "no_memory", "endings", "interpreters")


class Others(cases(Cells, "buffers", "overlaps", "interrupts")):
    """The other properties that are tested in this process."""

    @support.only_if(HAS_GIL)
    @support.timing
    def test_holding(self):
        self.check("holding")


class Matrix(Calls, Others):
    pass


#: The sinks whose properties in separate processes are tested here.
SAMPLE = ("sqlite", "typed function", "ufunc", "tvm-ffi", "callback")


def of(sinks, properties=Matrix, suffix=""):
    """Returns a test class for each of these sinks, keyed by name."""
    made = {}
    for sink in sinks:
        kind = matrix_sinks.SINKS[sink]
        words = sink.replace("-", " ").replace("C++", "Cpp").split()
        name = "".join(word[0].upper() + word[1:] for word in words) + suffix
        is_here = kind.is_built and kind.is_on_pypy == support.IS_PYPY
        made[name] = support.only_if(is_here)(type(name, (properties, unittest.TestCase), {"sink": sink}))
    return made


#: These sinks take long, and are tested in test_matrix_types.py, test_matrix_full.py and test_matrix_optional.py.
SLOW = {"ufunc of arrays", "numba", "numba without the GIL", "numba with Optionals", "jax", "duckdb", "call site", "fallback",
        "loop", "C++ callback", "narrowing", "cython", "long made-up arrays"}
globals().update(of([sink for sink in matrix_sinks.SINKS if sink not in SLOW]))
globals().update(of(SAMPLE, Processes, "InProcesses"))
#: C code of the tests calls these sinks. A library that is called from Python has the GIL, and no exception is pending.
globals().update(of(("made-up values", "made-up arrays"), cases(Cells, "states"), "InAnyState"))


class Expected(unittest.TestCase):
    def test_each_mutation_changes_a_text_that_is_there_once(self):
        import matrix_mutations

        for mutation in matrix_mutations.every_mutation():
            folder = support.MODULES if mutation.file.endswith(".cc") else matrix_mutations.ROOT
            self.assertNotEqual(matrix_mutations.mutated(mutation, folder)[1].count(mutation.new), 0, mutation)

    def test_each_sink_with_a_fault_has_a_reason(self):
        with open(EXPECTED, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(list(found["why"]), list(found["wrong"]))
        self.assertEqual([name for name in (*found["wrong"], *found["refused"]) if name not in matrix_sinks.SINKS], [])
