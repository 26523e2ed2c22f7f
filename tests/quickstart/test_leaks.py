"""Tests that the quickstart modules leak no references, memory blocks or rows."""

import importlib
import math
import sys
import unittest

import leaks

MODULES = (
    "quickstart_c",
    "quickstart_functions",
    "quickstart_integrate",
    "quickstart_libm",
    "quickstart_measure",
)
CYCLES = 1000
# A leak increases the counts by CYCLES or more. The number of memory blocks varies by hundreds
# because of the interpreter's free lists.
REFERENCES, BLOCKS = 100, CYCLES - 100


def import_use_and_drop():
    modules = {name: importlib.import_module(name) for name in MODULES}
    functions, measure = modules["quickstart_functions"], modules["quickstart_measure"]
    assert modules["quickstart_c"].inc(1) == functions.inc(1) == 2
    assert functions.abs(-2.5) == 2.5
    for call in (lambda: functions.div(1, 0), lambda: functions.abs("x")):
        try:
            call()
        except (ZeroDivisionError, TypeError):
            pass
        else:
            raise AssertionError("no exception")
    assert len(measure.entries(functions.abs)) == 2
    assert measure.compare(functions.add, "dd->d", 10, 1)["different"] == 0
    assert modules["quickstart_integrate"].integrate(math.sin, 0.0, 1.0)[2] == "unboxed"
    try:
        measure.measure(len, "d->d")
    except TypeError:
        pass
    for name in MODULES:
        del sys.modules[name]


class Leaks(unittest.TestCase):
    def test_a_thousand_imports(self):
        leaks.check(import_use_and_drop, CYCLES, warm_up=50, both_ways=True,
                    blocks=BLOCKS, references=REFERENCES)
