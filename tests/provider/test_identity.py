# Tests functions as objects: names, documentation, pickling, interpreters and leaks.
import gc
import importlib.util
import inspect
import pickle
import sys
import types
import unittest

import leaks
import provider_identity as m
from other_interpreters import check_in_others, needs_interpreters

LONG_NAME = "name_of_99_bytes_" + "a" * 82


def fresh_copy():
    spec = importlib.util.spec_from_file_location("provider_identity", m.__file__)
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


class Names(unittest.TestCase):
    def test_names(self):
        for name in ("inc", "add", "answer", "throws", "plus", LONG_NAME):
            function = getattr(m, name)
            self.assertIs(type(function), types.BuiltinFunctionType)
            self.assertEqual((function.__name__, function.__qualname__), (name, name))
            self.assertEqual(function.__module__, "provider_identity")
            self.assertIs(function.__self__, m)
        self.assertEqual(len(LONG_NAME), 99)
        self.assertEqual(getattr(m, LONG_NAME)(1), 2)
        self.assertEqual(m.__doc__, "A module as Python sees it.")

    def test_documentation(self):
        self.assertEqual(m.inc.__doc__, "The next number.")
        self.assertEqual(m.inc.__text_signature__, "($module, x, /)")
        self.assertEqual(str(inspect.signature(m.inc)), "(x, /)")
        self.assertEqual(str(inspect.signature(m.add)), "(a, b, /)")
        self.assertEqual(str(inspect.signature(m.answer)), "()")
        self.assertEqual(m.throws.__doc__, "Plain text.")
        self.assertIsNone(m.plus.__doc__)

    def test_pickle(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.assertIs(pickle.loads(pickle.dumps(m.inc, protocol)), m.inc)


class Modules(unittest.TestCase):
    def test_second_module_object(self):
        copy = fresh_copy()
        self.assertIsNot(copy, m)
        self.assertIsNot(copy.inc, m.inc)
        self.assertEqual((copy.inc(1), m.inc(1)), (2, 2))
        del copy
        gc.collect()
        self.assertEqual(m.inc(1), 2)

    def test_function_outlives_its_module(self):
        inc = fresh_copy().inc
        gc.collect()
        self.assertEqual(inc(1), 2)

    @needs_interpreters
    def test_other_interpreters(self):
        code = (
            "import sys\n"
            "sys.path[:] = %r\n"
            "import provider_identity as m\n"
            "assert m.inc(1) == 2 and m.add(1, 2) == 3\n"
            "try:\n"
            "    m.throws(0)\n"
            "except ValueError:\n"
            "    pass\n"
            "else:\n"
            "    raise AssertionError('nothing was raised')\n" % (sys.path,))
        check_in_others(self, code, lambda: self.assertEqual(m.inc(1), 2))


def use_and_drop():
    copy = fresh_copy()
    copy.inc(2 ** 40)
    copy.add(1.5, 2)
    for call in (lambda: copy.throws(0), lambda: copy.inc(2 ** 70), lambda: copy.inc("x"),
                 lambda: copy.add(1)):
        try:
            call()
        except Exception:
            continue
        raise AssertionError("nothing was raised")


class Leaks(unittest.TestCase):
    def test_thousand_times(self):
        leaks.check(use_and_drop, 1000, warm_up=2000, blocks=300, references=300)
