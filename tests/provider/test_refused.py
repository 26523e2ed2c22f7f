# Tests that a module with invalid defs cannot be imported.
import importlib
import sys
import unittest

OTHER = r"again\(\): the same C\+\+ function has other names or defaults in another def"


class Refused(unittest.TestCase):
    def test_imports(self):
        module = importlib.import_module("provider_refused_0")
        self.assertEqual((module.inc(), module.again(x=1)), (128, 2))

    def test_refusals(self):
        for number, error, words in (
                (1, SystemError, OTHER), (2, SystemError, OTHER),
                (3, SystemError, r"inc\(\): a default does not fit its parameter"),
                (4, ValueError, "METH_CLASS"), (5, ValueError, "METH_STATIC"),
                (6, ValueError, r"add\(\): two parameters are called 'x'"),
                (7, ValueError, r"add\(\): a parameter cannot be called 'class' in Python"),
                (8, ValueError, r"add\(\): a parameter cannot be called '\u00e9 y' in Python"),
                (9, ValueError, r"add\(\): a parameter cannot be called '' in Python"),
                (10, SystemError, OTHER),
                (11, ValueError, r"add\(\): two parameters are called 'x'"),
                (12, ValueError, r"add\(\): a parameter cannot be called '' in Python"),
                (13, SystemError, OTHER)):
            name = "provider_refused_%d" % number
            for _ in range(2):
                with self.assertRaisesRegex(error, words, msg=number):
                    importlib.import_module(name)
                self.assertNotIn(name, sys.modules)
