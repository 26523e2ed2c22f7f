# Tests two providers in one interpreter, which share the metaclass and the rows.
import gc
import importlib.util
import sys
import types
import unittest
from unittest import mock

import processes
import provider_a
import provider_b


def load_again(module):
    """Returns a second module object from the same file."""
    spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    return again


def run(code):
    """Runs code in a separate process."""
    processes.python(code=code)


class TwoProviders(unittest.TestCase):
    def test_one_metaclass_and_one_interface(self):
        self.assertIs(provider_a.metaclass(), provider_b.metaclass())
        self.assertIs(type(provider_a.Type), type(provider_b.Type))
        self.assertIs(type(provider_a.Type), provider_a.metaclass())
        self.assertEqual(provider_a.interface(), provider_b.interface())
        self.assertIs(sys.modules["_extensibletype"].extensibletype_v2, provider_a.metaclass())

    def test_each_finds_the_others_slots(self):
        for one, other, idea in ((provider_a, provider_b, 2), (provider_b, provider_a, 1)):
            self.assertEqual(one.find(other.Type(), idea), idea * 11)
            self.assertIsNone(one.find(other.Type(), 3 - idea))

    def test_a_class_of_both(self):
        class Both(provider_a.Type, provider_b.Type):
            pass

        for finder in (provider_a, provider_b):
            self.assertEqual([finder.find(Both(), idea) for idea in (1, 2)], [11, 22])

    def test_each_finds_the_others_rows(self):
        for one, other, value in ((provider_a, provider_b, 2), (provider_b, provider_a, 1)):
            self.assertEqual(one.row(other.key), value)
        self.assertIsNone(provider_a.row(provider_a.key + 1))

    def test_import_orders(self):
        check ="""
assert provider_a.metaclass() is provider_b.metaclass()
assert provider_a.interface() == provider_b.interface()
assert provider_a.row(provider_b.key) == 2 and provider_b.row(provider_a.key) == 1
class Both(provider_b.Type, provider_a.Type): pass
assert provider_a.find(Both(), 2) == 22 and provider_b.find(Both(), 1) == 11
"""
        run("import provider_a, provider_b" + check)
        run("import provider_b, provider_a" + check)

    def test_the_first_one_is_forgotten(self):
        run("""
import gc, sys
import provider_a
meta, interface = provider_a.metaclass(), provider_a.interface()
del provider_a, sys.modules['provider_a'], sys.modules['_extensibletype']
gc.collect()
import provider_b
assert provider_b.metaclass() is meta and provider_b.interface() == interface
""")

    def test_squatters(self):
        for squat in ("sys.modules['_extensibletype'] = object()",
                      "m = sys.modules['_extensibletype'] = type(sys)('_extensibletype')\n"
                      "m.typedcall_v2 = 5",
                      "m = sys.modules['_extensibletype'] = type(sys)('_extensibletype')\n"
                      "m.extensibletype_v2 = type"):
            run("""
import sys
%s
try: import provider_a
except ImportError as error: assert '_extensibletype' in str(error), error
else: assert False
del sys.modules['_extensibletype']
import provider_a
assert provider_a.find(provider_a.Type(), 1) == 11
""" % squat)

    def test_sys_modules_is_put_back(self):
        with mock.patch.dict(sys.modules):
            del sys.modules["_extensibletype"]
            again = load_again(provider_a)
            self.assertEqual(again.interface(), provider_a.interface())
            self.assertIs(again.metaclass(), provider_a.metaclass())


class ExecutedAgain(unittest.TestCase):
    def setUp(self):
        gc.collect()

    def test_rows_live_as_long_as_one_module_object(self):
        run("""
import gc, sys
import provider_a, provider_b, test_providers
key = provider_a.key
first, second = provider_a, test_providers.load_again(provider_a)
assert first is not second and first.Type is not second.Type and first.key == second.key
del provider_a, test_providers.provider_a, sys.modules['provider_a']
counter = second.destroyed  # keeps that module alive
del first
gc.collect()
assert provider_b.row(key) == 1 and counter() == 0
del second
gc.collect()
assert provider_b.row(key) == 1
del counter
gc.collect()
assert provider_b.row(key) is None, provider_b.row(key)
import provider_a
assert provider_b.row(key) == 1 and provider_a.destroyed() == 1
""")

    def test_a_second_module_object_that_goes_first(self):
        again = load_again(provider_b)
        self.assertEqual(provider_a.row(again.key), 2)
        ended = provider_b.destroyed()
        del again
        gc.collect()
        self.assertEqual(provider_a.row(provider_b.key), 2)
        self.assertEqual(provider_b.destroyed(), ended)

    def test_types_are_independent(self):
        again = load_again(provider_a)
        self.assertIsNot(again.Type, provider_a.Type)
        instance = again.Type()
        self.assertEqual(provider_b.find(instance, 1), 11)
        del again
        gc.collect()
        self.assertEqual(provider_b.find(instance, 1), 11)

    def test_many_times(self):
        for _ in range(50):
            self.assertEqual(load_again(provider_a).find(provider_b.Type(), 2), 22)
        gc.collect()
        self.assertEqual(provider_b.row(provider_a.key), 1)

    def test_the_module_is_a_module(self):
        self.assertIsInstance(sys.modules["_extensibletype"], types.ModuleType)
        import _extensibletype
        self.assertIs(_extensibletype.extensibletype_v2, provider_a.metaclass())
