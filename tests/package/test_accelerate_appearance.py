"""Tests the report of typedcall.accelerate, and the names, signatures, pickles and tracebacks of its functions."""
import copy
import inspect
import pickle
import sys
import traceback
import types

import support
from accelerated import ON_PYPY, Accelerated
from typedcall.pypy import accelerate, restore, wrapper_of


@ON_PYPY
class Reports(Accelerated):
    def test_what_is_refused_and_why(self):
        refused = self.done.refused
        self.assertIn("needs the GIL, may raise", refused["div"])
        self.assertIn("returns a status", refused["invert"])
        self.assertIn("double _Complex", refused["turn"])
        self.assertIn("const char *", refused["same_text"])
        self.assertIn("pointer", refused["sum_of"])
        for name in ("div", "check", "invert", "expect", "turn", "same_text", "same_object",
                     "first_of", "sum_of", "same_pointer", "half_long"):
            self.assertIn(name, refused)
            self.assertIs(getattr(self.functions, name), self.boxed[name])
        self.assertIn("any object", self.done_counting.refused["object"])
        self.assertIn("nothing says that it needs no GIL", self.done_counting.refused["bare"])
        self.assertFalse(set(refused) & set(self.done.accelerated))

    def test_result(self):
        self.assertTrue(self.done)
        self.assertEqual(self.done.module, "typed_functions")
        for name in ("inc", "add", "mix", "absolute", "power", "ten", "Scaler.twice"):
            self.assertIn(name, self.done.accelerated)
        self.assertIn("not div: ", str(self.done))
        self.assertNotIn("counts", self.done_counting.refused)  # the function is not typed

    def test_twice_changes_nothing(self):
        before = dict(vars(self.functions))
        self.assertEqual(accelerate(self.functions), self.done)
        for name, value in before.items():
            self.assertIs(vars(self.functions)[name], value, name)

    def test_restore(self):
        self.assertIn("inc", restore(self.functions))
        for name, value in self.boxed.items():
            self.assertIs(vars(self.functions)[name], value, name)
        self.assertEqual(restore(self.functions), [])

    def test_again_after_restore_is_the_same_object(self):
        first = self.functions.inc
        restore(self.functions)
        accelerate(self.functions)
        self.assertIs(self.functions.inc, first)


@ON_PYPY
class Appearance(Accelerated):
    def test_names(self):
        for name in ("inc", "add", "power", "absolute"):
            function, boxed = getattr(self.functions, name), self.boxed[name]
            self.assertIsNot(function, boxed)
            for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
                self.assertEqual(getattr(function, attribute), getattr(boxed, attribute))
            self.assertIs(function.__wrapped__, boxed)
            self.assertIs(wrapper_of(function), boxed)
            self.assertIsNone(wrapper_of(boxed))
        self.assertEqual(repr(self.functions.inc), "<built-in function inc>")
        self.assertIsInstance(self.functions.inc, types.BuiltinFunctionType)
        self.assertTrue(inspect.isbuiltin(self.functions.inc))

    def test_signature(self):
        self.assertEqual(str(inspect.signature(self.functions.power)), "(x, y=2.0)")
        self.assertEqual(str(inspect.signature(self.functions.inc)), "(arg0, /)")
        self.assertEqual(str(inspect.signature(self.counting.mix)), "(a, b, c=1.0, d=1)")
        self.assertEqual(self.counting.inc.__text_signature__, "($module, x, /)")
        for name in ("absolute",):  # overloads have no text signature
            with self.assertRaises(ValueError):
                inspect.signature(getattr(self.functions, name))

    def test_pickle_and_copy(self):
        for name in ("inc", "power", "absolute"):
            function = getattr(self.functions, name)
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                self.assertIs(pickle.loads(pickle.dumps(function, protocol)), function)
            self.assertIs(copy.copy(function), function)
            self.assertIs(copy.deepcopy(function), function)
        pickled = pickle.dumps(self.functions.inc)
        restore(self.functions)
        self.assertIs(pickle.loads(pickled), self.boxed["inc"])

    def test_identity_and_hash(self):
        function = self.functions.inc
        self.assertIs(function, self.functions.inc)
        self.assertEqual({function: 1}[self.functions.inc], 1)
        self.assertEqual(hash(function), hash(self.functions.inc))

    def test_does_not_bind(self):
        class Holder:
            inc = self.functions.inc

        self.assertEqual(Holder().inc(4), 5)

    def test_traceback_has_no_frame_of_the_shim(self):
        for function, args in (self.functions.inc, ("x",)), (self.counting.mix, ()):
            try:
                function(*args)
            except TypeError as error:
                names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
                self.assertEqual(names, ["test_traceback_has_no_frame_of_the_shim"])
                self.assertIsNone(error.__context__)
        try:
            self.functions.inc(2**63)
        except OverflowError as error:
            self.assertIsNone(error.__context__)
            self.assertIsNone(error.__cause__)

    def test_functions_imported_elsewhere_before_stay_the_original(self):
        restore(self.functions)
        elsewhere = types.ModuleType("elsewhere")
        elsewhere.inc = self.functions.inc
        accelerate(self.functions)
        self.assertIs(elsewhere.inc, self.boxed["inc"])


@ON_PYPY
class Reexports(Accelerated):
    """Packages that re-export functions of an extension module."""

    def setUp(self):
        super().setUp()
        restore(self.functions)
        self.package = types.ModuleType("a_package")
        self.package.inc = self.functions.inc
        self.package.plus_one = self.functions.inc
        sys.modules["a_package"] = self.package
        self.addCleanup(sys.modules.pop, "a_package")

    def test_home_is_accelerated_with_it(self):
        self.assertEqual(accelerate(self.package).accelerated, ["inc", "plus_one"])
        self.assertIs(self.package.inc, self.functions.inc)
        self.assertIs(self.package.inc, self.package.plus_one)
        self.assertIs(pickle.loads(pickle.dumps(self.package.plus_one)), self.functions.inc)
        self.assertIs(self.functions.add, self.boxed["add"])

    def test_restored_with_it(self):
        accelerate(self.package)
        self.assertEqual(restore(self.package), ["inc", "plus_one"])
        self.assertIs(self.package.inc, self.boxed["inc"])
        self.assertIs(self.functions.inc, self.boxed["inc"])

    def test_after_the_home(self):
        accelerate(self.functions)
        self.assertEqual(accelerate(self.package).accelerated, ["inc", "plus_one"])
        self.assertIs(self.package.inc, self.functions.inc)


@ON_PYPY
class Threads(Accelerated):
    def test_calls_from_threads(self):
        def work(total):
            for _ in range(20000):
                total = self.functions.inc(total)
            return total

        self.assertEqual(support.at_once(work, [(i * 10**6,) for i in range(4)]),
                         [i * 10**6 + 20000 for i in range(4)])
