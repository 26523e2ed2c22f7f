"""Using and deriving from the modules' classes a thousand times leaks nothing: no reference, no block
of memory; nor, in C++, does importing and dropping the module."""

import gc
import importlib
import pickle
import sys
import unittest

from both_modules import NO_CYTHON

CYCLES = 1000
# A leak shows as CYCLES or more. References are exact but for what the interpreter itself keeps; the
# count of memory blocks, all that release builds have, wanders by hundreds with its free lists.
SLACK = 100 if hasattr(sys, "gettotalrefcount") else CYCLES - 100


def use(module):
    class Mixed(Base, module.GoodMorning, module.Hello):
        pass

    Mixed.default = Mixed("x")
    Mixed.default.loop = Mixed.default
    assert Mixed.default.greet() == "Good morning x!"
    assert module.Hello("x").greet() == "Hello x!"
    hello = module.Hello("y")
    hello.__init__("z")
    assert pickle.loads(pickle.dumps(hello)).greet() == "Hello z!"
    for wrong in (module.Greet().greet, lambda: module.Hello(5), lambda: module.Hello(nobody=1)):
        try:
            wrong()
        except TypeError:
            pass
        else:
            raise AssertionError("no exception")


def import_use_and_drop():
    use(importlib.import_module("greetings_cpp"))
    del sys.modules["greetings_cpp"]


class Base:
    pass


def count():
    # Without the GIL memory comes back some collections later.
    for _ in range(5):
        gc.collect()
    counter = getattr(sys, "gettotalrefcount", sys.getallocatedblocks)
    return counter()


class Leaks(unittest.TestCase):
    def check(self, cycle):
        for _ in range(50):
            cycle()
        # Caches fill up in the first rounds, or empty: 3.14's debug build gives half as many references
        # back in each round. A leak is there in every one, as large as in the first.
        lost = []
        while not lost or (abs(lost[-1]) >= SLACK and len(lost) < 6):
            before = count()
            for _ in range(CYCLES):
                cycle()
            lost.append(count() - before)
        self.assertLess(abs(lost[-1]), SLACK, lost)

    def test_a_thousand_imports_in_cpp(self):
        self.check(import_use_and_drop)

    # Cython 3.3 leaks a block for each import of one and the same module, even an empty one.
    @unittest.skipIf(NO_CYTHON, NO_CYTHON)
    def test_a_thousand_uses_in_cython(self):
        module = importlib.import_module("greetings_cython")
        self.check(lambda: use(module))


if __name__ == "__main__":
    unittest.main()
