"""Importing, using and dropping the quickstart modules a thousand times leaks nothing: no reference,
no block of memory, no row of the side table."""

import gc
import importlib
import math
import sys
import unittest

MODULES = (
    "quickstart_c",
    "quickstart_functions",
    "quickstart_integrate",
    "quickstart_libm",
    "quickstart_measure",
)
CYCLES = 1000
# A leak shows as CYCLES or more. References are exact but for what the interpreter itself keeps; the
# count of memory blocks, all that release builds have, wanders by hundreds with its free lists.
SLACK = 100 if hasattr(sys, "gettotalrefcount") else CYCLES - 100


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


def count():
    # Without the GIL memory comes back some collections later.
    for _ in range(5):
        gc.collect()
    counter = getattr(sys, "gettotalrefcount", sys.getallocatedblocks)
    return counter()


class Leaks(unittest.TestCase):
    def test_a_thousand_imports(self):
        for _ in range(50):
            import_use_and_drop()
        # Caches fill up in the first rounds; a leak is there in every one.
        lost = []
        while not lost or (abs(lost[-1]) >= SLACK and len(lost) < 3):
            before = count()
            for _ in range(CYCLES):
                import_use_and_drop()
            lost.append(count() - before)
        self.assertLess(abs(lost[-1]), SLACK, lost)


if __name__ == "__main__":
    unittest.main()
