"""Tests that using the classes and deriving from them a thousand times leaks no references and no
memory blocks. For the C++ module, also tests that importing it does not leak."""

import importlib
import pickle
import sys
import unittest

import leaks
from both_modules import NO_CYTHON

CYCLES = 1000
# A leak increases the counts by CYCLES or more. The number of memory blocks varies by hundreds
# because of the interpreter's free lists.
REFERENCES, BLOCKS = 100, CYCLES - 100


def use(module):
    class Mixed(Base, module.Kilogram, module.Ounce):
        pass

    Mixed.default = Mixed(3)
    Mixed.default.loop = Mixed.default
    assert Mixed.default.text() == "3 kg"
    assert module.Ounce(3).text() == "3 oz"
    ounce = module.Ounce(4)
    ounce.__init__(2.5)
    assert pickle.loads(pickle.dumps(ounce)).text() == "2.5 oz"
    for wrong in (module.Mass().text, lambda: module.Ounce("5"), lambda: module.Ounce(nobody=1)):
        try:
            wrong()
        except TypeError:
            pass
        else:
            raise AssertionError("no exception")


def import_use_and_drop():
    use(importlib.import_module("units_cpp"))
    del sys.modules["units_cpp"]


class Base:
    pass


class Leaks(unittest.TestCase):
    def check(self, cycle):
        # Six rounds, because 3.14's debug build releases only half of the references in each round.
        leaks.check(cycle, CYCLES, warm_up=50, rounds=6, both_ways=True,
                    blocks=BLOCKS, references=REFERENCES)

    def test_a_thousand_imports_in_cpp(self):
        self.check(import_use_and_drop)

    # Cython 3.3 leaks a block each time the same module is imported.
    @unittest.skipIf(NO_CYTHON, NO_CYTHON)
    def test_a_thousand_uses_in_cython(self):
        module = importlib.import_module("units_cython")
        self.check(lambda: use(module))
