"""The matrix: every sink (matrix_sinks.py) has every property (matrix_properties.py), but for what matrix_expected.json
lists: a cell there has to fail, and its line goes when it does not; and a function that a sink refuses is refused
with all its values. Here are the sinks that take a second, and some of them with the properties whose cells are processes;
test_matrix_types.py has calls of the sinks that compile code for types, test_matrix_full.py the rest of these and sinks in
C++, test_matrix_processes.py the other processes."""
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
        self.assertEqual(refusals(outcomes), self.refused.get(name, ""))


def refusals(outcomes):
    """Returns the functions that a sink refuses with all values, or "*" for all functions, given the outcomes of each. A
    limit is no refusal: other versions of libraries and interpreters have other limits."""
    refused = [function for function, found in outcomes.items() if "refused" in found and found <= {"refused", "limit"}]
    asked = [function for function, found in outcomes.items() if found != {"limit"}]
    return "*" if refused and refused == asked else " ".join(refused)


class Values(Cells):
    """The properties of what single calls give and raise."""

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


class Calls(Values):
    """The properties of single calls."""

    def test_native(self):
        self.check("native")

    def test_texts(self):
        self.check("texts")

    def test_defaults(self):
        self.check("defaults")

    def test_by_position(self):
        self.check("by_position")

    def test_threads(self):
        self.check("threads")


class Others(Cells):
    """The other properties without processes."""

    def test_buffers(self):
        self.check("buffers")

    def test_interrupts(self):
        self.check("interrupts")

    @support.only_if(HAS_GIL)
    @support.timing
    def test_holding(self):
        self.check("holding")


class Matrix(Calls, Others):
    pass


class Processes(Cells):
    """The properties whose cells have processes of their own."""

    def test_lifetimes(self):
        self.check("lifetimes")

    def test_no_memory(self):
        self.check("no_memory")

    def test_endings(self):
        self.check("endings")

    def test_interpreters(self):
        self.check("interpreters")


#: Sinks whose processes are a sample for the gate.
SAMPLE = ("sqlite", "typed function", "ufunc", "tvm-ffi", "callback")


def of(name, sink, properties=Matrix):
    """The cases of a sink, as a class of that name."""
    made = matrix_sinks.SINKS[sink]
    is_here = made.is_built and made.is_on_pypy == support.IS_PYPY
    return support.only_if(is_here)(type(name, (properties, unittest.TestCase), {"sink": sink}))


Wrapper = of("Wrapper", "wrapper")
TypedFunction = of("TypedFunction", "typed function")
Ufunc = of("Ufunc", "ufunc")
Sqlite = of("Sqlite", "sqlite")
Sqlite3 = of("Sqlite3", "sqlite3")
TvmFfi = of("TvmFfi", "tvm-ffi")
Closure = of("Closure", "closure")
FreeClosure = of("FreeClosure", "free closure")
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

SqliteInProcesses = of("SqliteInProcesses", SAMPLE[0], Processes)
TypedFunctionInProcesses = of("TypedFunctionInProcesses", SAMPLE[1], Processes)
UfuncInProcesses = of("UfuncInProcesses", SAMPLE[2], Processes)
TvmFfiInProcesses = of("TvmFfiInProcesses", SAMPLE[3], Processes)
CallbackInProcesses = of("CallbackInProcesses", SAMPLE[4], Processes)


class Expected(unittest.TestCase):
    def test_each_sink_with_a_fault_has_a_reason(self):
        with open(EXPECTED, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(list(found["why"]), list(found["wrong"]))
        self.assertEqual([name for name in (*found["wrong"], *found["refused"]) if name not in matrix_sinks.SINKS], [])
