"""Tests typed functions and methods in plain C."""
import array
import gc
import importlib
import inspect
import sys
import unittest
from types import ModuleType

from collected import only_if
import c_provider
import c_provider_cc
import c_provider_flagged
import leaks
import look

BITS_ARE_FREE = sys.version_info < (3, 11)
MODULES = (c_provider, c_provider_cc, c_provider_flagged)
OURS = {module.__name__ for module in MODULES}
RAISES, SELF, PURE = 0x5, 0x20, 0x20000

OF_MODULE = {
    "answer": [("->l", PURE)],
    "twice": [("l->l", PURE), ("d->d", PURE)],
    "positive": [("l->l", RAISES)],
    "plus": [("ll->l", PURE)],
    "plus_named": [("ll->l", PURE)],
    "plus_fast": [("ll->l", PURE)],
    "plus_fast_named": [("ll->l", PURE)],
    "norm": [("*kd->d", PURE)],
}
OF_TYPE = {
    "total": [("->l", SELF)],
    "add": [("l->l", SELF)],
    "of_class": [("->l", PURE)],
    "of_class_named": [("ll->l", PURE)],
    "of_nobody": [("ll->l", PURE)],
}


def place(module):
    return "bits" if BITS_ARE_FREE or module is c_provider_flagged else "side table"


def again(module):
    """Loads a second module object from the same shared object."""
    first = sys.modules.pop(module.__name__)
    try:
        return importlib.import_module(module.__name__)
    finally:
        sys.modules[module.__name__] = first


class WhatPythonSees(unittest.TestCase):
    def test_functions(self):
        for module in MODULES:
            with self.subTest(module=module.__name__):
                self.assertEqual(module.answer(), 42)
                self.assertEqual((module.twice(-3), module.twice(1.5)), (-6, 3.0))
                self.assertEqual((module.positive(-1), module.positive(2)), (-1, 2))
                self.assertEqual(module.plus_named(x=2), 3)
                self.assertEqual(module.norm(array.array("d", [3, 4])), 25.0)
                self.assertRaises(TypeError, module.norm, array.array("f", [3, 4]))
                for name in ("plus", "plus_named", "plus_fast", "plus_fast_named"):
                    self.assertEqual(getattr(module, name)(40, 2), 42)
                    self.assertEqual(getattr(module, name).__name__, name)
                    self.assertRaises(TypeError, getattr(module, name), "1", 2)
                    self.assertRaises(TypeError, getattr(module, name), 1, 2, 3)
                self.assertEqual(module.plus_fast_named(40, y=2), 42)
                self.assertEqual(module.plus_named(40, y=2), 42)
                self.assertRaises(TypeError, module.plus_fast, 40, y=2)
                self.assertRaises(ValueError, module.positive, -2)
                self.assertRaises(TypeError, module.answer, 1)
                self.assertRaises(OverflowError, module.twice, 2**63)
                self.assertEqual(str(inspect.signature(module.twice)), "(x, /)")
                self.assertEqual(module.twice.__doc__, "2 x.")

    def test_methods(self):
        for module in MODULES:
            with self.subTest(module=module.__name__):
                counter = module.Counter()
                self.assertEqual((counter.add(5), counter.add(-7), counter.total()), (5, -2, -2))
                self.assertEqual(module.Counter.of_class(), 42)
                self.assertEqual(counter.of_class_named(1, y=2), 3)
                self.assertEqual((counter.of_nobody(1, 2), module.Counter.of_nobody(3, 4)), (3, 7))
                self.assertEqual(module.Counter.add.__name__, "add")
                self.assertEqual(str(inspect.signature(counter.total)), "()")
                self.assertEqual(counter.total.__doc__, "The sum.")
                self.assertRaises(TypeError, module.Counter.add, object(), 1)

                class Derived(module.Counter):
                    pass
                self.assertEqual(Derived().add(3), 3)


class WhatConsumersSee(unittest.TestCase):
    def check(self, callable_, entries, where, sibling):
        expected = {where: entries}
        if sibling:
            expected["sibling"] = entries
        self.assertEqual(look.places(callable_), expected)

    def test_functions(self):
        for module in MODULES:
            for name, entries in OF_MODULE.items():
                with self.subTest(module=module.__name__, name=name):
                    self.check(getattr(module, name), entries, place(module), name == "twice")
            self.assertEqual(look.places(module.untyped), {})
            self.assertEqual(look.places(module.make_type), {})

    def test_methods(self):
        for module in MODULES:
            of_type = vars(module.Counter)
            counter = module.Counter()
            for name, entries in OF_TYPE.items():
                with self.subTest(module=module.__name__, name=name):
                    self.check(getattr(counter, name), entries, place(module), name == "add")
                    self.check(getattr(module.Counter, name), entries, place(module), name == "add")
                    if name != "of_nobody":  # the type's dictionary contains a staticmethod object
                        self.check(of_type[name], entries, place(module), name == "add")
            self.assertEqual(look.places(counter.untyped), {})

    def test_nobody_else_has_a_sibling(self):
        """Functions of the interpreter and of other modules have no sibling symbol."""
        seen = 0
        modules = [module for module in sys.modules.values() if isinstance(module, ModuleType)]
        for holder in modules + object.__subclasses__():
            if OURS & {holder.__name__, getattr(holder, "__module__", None)}:
                continue
            for callable_ in list(vars(holder).values()):
                if type(callable_).__name__ in ("builtin_function_or_method", "method_descriptor",
                                                "classmethod_descriptor"):
                    self.assertNotIn("sibling", look.places(callable_))
                    seen += 1
        self.assertGreater(seen, 1000)

    def test_both_ways_agree(self):
        values = (0, 1, -1, 2**31, -2**31, 2**62, -2**62)
        for module in MODULES:
            for x in values:
                self.assertEqual(look.call(module.twice, None, "l->l", x), module.twice(x)
                                 if abs(x) < 2**62 else -2**63)
                self.assertEqual(look.call(module.twice, None, "d->d", float(x)),
                                 module.twice(float(x)))
                self.assertEqual(look.call(module.plus_fast, None, "ll->l", x, 1),
                                 module.plus_fast(x, 1))
            self.assertEqual(look.call(module.answer, None, "->l"), 42)
            counter = module.Counter()
            self.assertEqual(look.call(counter.add, counter, "l->l", 5), 5)
            self.assertEqual(counter.add(1), 6)
            self.assertEqual(look.call(module.Counter.total, counter, "->l"), 6)
            self.assertEqual(look.call(module.Counter.of_class, None, "->l"), 42)


@only_if(not BITS_ARE_FREE)  # otherwise defs have the bits and need no side table
class HowLongTagsLive(unittest.TestCase):
    def collect(self):
        while gc.collect():
            pass

    def test_modules(self):
        for module in (c_provider, c_provider_cc):
            second = again(module)
            self.assertIsNot(second.twice, module.twice)
            self.assertIn("side table", look.places(second.twice))
            del second
            self.collect()
            self.assertIn("side table", look.places(module.twice))

    def test_types(self):
        # The types share one array of defs. Its rows are removed with the last type.
        module = again(c_provider)
        types = [module.make_type() for _ in range(3)]
        while types:
            method = types[-1].add
            self.assertIn("side table", look.places(method))
            del types[-1], method
            self.collect()
        self.assertIn("side table", look.places(module.Counter.add))

    def test_a_method_keeps_its_tag(self):
        method = c_provider.make_type().add
        self.collect()
        self.assertIn("side table", look.places(method))


class References(unittest.TestCase):
    def check(self, use):
        # Blocks are not counted under the sanitizers, which set PYTHONMALLOC=malloc.
        leaks.check(use, 100, warm_up=700, rounds=5, blocks=25, objects=25)

    def test_imports_and_types(self):
        for module in MODULES:
            self.check(lambda: again(module))
            self.check(lambda: module.make_type()().add(1))

    def test_looking(self):
        for module in MODULES:
            self.check(lambda: look.places(module.twice))
            self.check(lambda: look.call(module.plus, None, "ll->l", 1000, 2000))

    def test_the_count_sees_a_leak(self):
        kept = []
        with self.assertRaisesRegex(AssertionError, "^leak: "):
            self.check(lambda: kept.append(c_provider.make_type()))
