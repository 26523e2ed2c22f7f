# Tests several modules in one shared object, which have their own exception translators.
import importlib.machinery
import importlib.util
import itertools
import unittest

import provider_shared
import provider_split

NAMES = ("provider_shared", "provider_shared_second", "provider_shared_third", "provider_shared_none")
RAISED = dict(zip(NAMES, (SyntaxError, KeyError, OSError, RuntimeError)))


def load(name):
    loader = importlib.machinery.ExtensionFileLoader(name, provider_shared.__file__)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, loader=loader))
    loader.exec_module(module)
    return module


class SharedObject(unittest.TestCase):
    def check(self, module, error):
        for call, words in ((module.single, "of a function"), (module.again, "of a function"),
                            (module.overloaded, "of a function"), (module.named, "with a default"),
                            (module.otherwise, "otherwise"), (module.falls_back, "behind falls_back")):
            with self.assertRaisesRegex(Exception, words) as caught:
                call(1)
            self.assertIs(caught.exception.__class__, error, (module, call))
        with self.assertRaisesRegex(Exception, "of an overload") as caught:
            module.overloaded(1.5)
        self.assertIs(caught.exception.__class__, error)

    def test_each_its_own(self):
        for order in itertools.permutations(NAMES):
            modules = [load(name) for name in order]
            for module in modules:
                self.check(module, RAISED[module.__name__])

    def test_methods_of_a_type(self):
        second = load("provider_shared_second")
        load("provider_shared_third")
        with self.assertRaisesRegex(KeyError, "in a method"):
            second.Thing.fail(object.__new__(second.Thing), 1)

    def test_thrown_while_a_module_is_executed(self):
        second = load("provider_shared_second")
        for _ in range(2):
            with self.assertRaisesRegex(BufferError, r"in exec\(\)"):
                load("provider_shared_failing")
        self.check(second, KeyError)

    def test_a_module_of_two_files(self):
        self.check(provider_split, ArithmeticError)
