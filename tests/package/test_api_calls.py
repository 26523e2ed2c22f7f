"""Tests calls to a TypedFunction: with every type, with errors, and as methods."""
import array
import collections
import ctypes
import importlib.util
import math
import sys
import unittest

import support
import typedcall
from typedcall import Flags

support.module_only_if(not support.IS_PYPY, "for CPython; PyPy has test_pypy_api")

from typedcall.native import _native  # PyPy has a different extension module

typed = support.build("typed_functions")


def resolve(name, capabilities=None):
    """Returns the TypedFunction for the first entry of typed_functions.<name>."""
    function = getattr(typed, name)
    return typedcall.resolve(function, typedcall.signatures(function)[0], capabilities=capabilities)


class Values(unittest.TestCase):
    def same(self, name, *args):
        """Checks that the wrapper and the TypedFunction have the same result or exception."""
        outcomes = []
        for call in (getattr(typed, name), resolve(name)):
            try:
                result = call(*args)
                outcomes.append((type(result), repr(result)))
            except (TypeError, ValueError, OverflowError, ArithmeticError) as error:
                outcomes.append((type(error), str(error)))
        self.assertEqual(outcomes[0], outcomes[1], (name, args))
        return outcomes[0][0]

    def test_complex(self):
        for z in (1 + 2j, complex(-0.0, math.inf), 3, 2.5, True):
            self.assertIs(self.same("turn", z), complex)
        self.assertIs(self.same("turn", "1"), TypeError)

    def test_objects(self):
        same = resolve("same_object")
        marker = object()
        before = sys.getrefcount(marker)
        self.assertIs(same(marker), marker)
        self.assertEqual(sys.getrefcount(marker), before)

    def test_pointers(self):
        total = resolve("sum_of")
        values = array.array("d", [1.0, 2.5, 3.0])
        self.assertEqual(total(values, 3), 6.5)
        self.assertEqual(total((ctypes.c_double * 2)(1.0, 2.0), 2), 3.0)
        self.assertEqual(total(None, 0), 0.0)
        for wrong in (array.array("f", [1.0]), [1.0], 5, "text", array.array("l", [1])):
            with self.assertRaises(TypeError):
                total(wrong, 1)
        # The buffer is released even if a call fails.
        with self.assertRaises(TypeError):
            total(values, "text")
        values.append(4.0)
        self.assertEqual(total(memoryview(bytes(16)).cast("d"), 2), 0.0)  # the function takes a const pointer

    def test_void_pointer_and_nothing(self):
        pointer = resolve("same_pointer")
        self.assertIsNone(pointer(None))
        buffer = bytearray(8)
        self.assertIn('capsule object "P"', repr(pointer(buffer)))
        before = typed.counted()
        self.assertIsNone(resolve("count")())
        self.assertEqual(resolve("counted")(), before + 1)

    def test_long_double(self):
        half = resolve("half_long", capabilities=Flags.DIFFERS)
        self.assertEqual((half(5), half(-0.0).hex(), half(math.inf)), (2.5, "-0x0.0p+0", math.inf))

    def test_ten_arguments_of_three_classes(self):
        args = (1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9, 10.5)
        self.assertIs(self.same("ten", *args), float)
        self.assertEqual(resolve("ten")(*args), typed.ten(*args))


class Errors(unittest.TestCase):
    def test_what_is_timed_may_fail_too(self):
        for name, arguments, error in (
            ("invert", (0.0,), ZeroDivisionError),
            ("expect", (-5,), ValueError),
            ("div", (1.0, 0.0), ZeroDivisionError),
            ("first_of", ([],), IndexError),
        ):
            with self.assertRaises(error):
                _native.time_unboxed(resolve(name), arguments, 1)
            with self.assertRaises(error):
                _native.time_boxed(getattr(typed, name), arguments, 1)
        self.assertGreater(_native.time_unboxed(resolve("invert"), (4.0,), 100), 0)

    def test_a_failure_without_an_exception(self):
        failing = ctypes.CDLL(None).abs  # a nonzero result is a failure
        failing.restype, failing.argtypes = ctypes.c_int, [ctypes.c_int]

        def tagged(x):
            return x

        typedcall.tag(tagged, "i->i", ctypes.cast(failing, ctypes.c_void_p).value,
                      flags=Flags.RETURNS_STATUS | Flags.NEEDS_THREAD)
        call = typedcall.resolve(tagged, "i->i")
        self.assertIsNone(call(0))
        for failed in (lambda: call(1), lambda: _native.time_unboxed(call, (1,), 1)):
            with self.assertRaisesRegex(SystemError, "without setting an exception"):
                failed()

    def test_an_object_function_that_raises(self):
        first = resolve("first_of")
        self.assertEqual(first([7, 8]), 7)
        with self.assertRaises(IndexError):
            first([])
        with self.assertRaises(TypeError):
            first(5)

    def test_wrong_counts_and_keywords(self):
        for args in ((), (1.0,), (1.0, 2.0, 3.0)):
            with self.assertRaisesRegex(TypeError, r"add\(\) takes exactly 2 arguments \(%d given"
                                        % len(args)):
                resolve("add")(*args)
        with self.assertRaisesRegex(TypeError, r"power\(\) missing required arguments: 'x'"):
            resolve("power")()
        with self.assertRaisesRegex(TypeError, r"power\(\) takes at most 2 arguments by position \(3"):
            resolve("power")(1.0, 2.0, 3.0)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'z'"):
            resolve("power")(2.0, z=3.0)
        with self.assertRaisesRegex(TypeError, r"add\(\) takes no keyword arguments"):
            resolve("add")(2, arg1=3)
        self.assertEqual(resolve("power")(*[2.0, 3.0], **{}), 8.0)
        self.assertEqual((resolve("power")(3.0), resolve("power")(y=3.0, x=2.0)), (9.0, 8.0))

    def test_a_failing_conversion_calls_nothing(self):
        class Failing:
            def __index__(self):
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            resolve("inc")(Failing())


class Methods(unittest.TestCase):
    def test_bound(self):
        scaler = typed.Scaler(3.0)
        self.assertEqual(typedcall.resolve(scaler.scale, "d->d")(2.0), 6.0)
        self.assertEqual(typedcall.resolve(scaler.factor, "->d")(), 3.0)
        checked = typedcall.resolve(scaler.checked, "d->d")
        self.assertEqual(checked(1.0), 3.0)
        with self.assertRaisesRegex(ValueError, "negative"):
            checked(-1.0)

    def test_unbound_checks_self_as_the_descriptor_does(self):
        scale = typedcall.resolve(typed.Scaler.scale, "d->d")
        self.assertEqual(scale(typed.Scaler(4.0), 2.0), 8.0)

        class Child(typed.Scaler):
            pass

        self.assertEqual(scale(Child(5.0), 2.0), 10.0)
        for wrong in (5, None, "text", typed.Scaler):
            with self.assertRaisesRegex(TypeError, "doesn't apply to a"):
                scale(wrong, 2.0)
        with self.assertRaisesRegex(TypeError, r"takes exactly 2 arguments \(1 given\)"):
            scale(typed.Scaler(4.0))
        with self.assertRaisesRegex(TypeError, r"takes exactly 2 arguments \(0 given\)"):
            scale()

    def test_who_brings_no_self_gets_nothing_of_an_unbound_method(self):
        # Python requires self, even if the C function does not take it.
        append, (entry, *_) = collections.deque.append, typedcall.entries(typed.Scaler.twice)
        typedcall.tag(append, "d->d", entry.address, flags=Flags.THREAD_SAFE)
        self.addCleanup(typedcall.untag, append)
        self.assertEqual(typedcall.signatures(append), ["d->d"])
        gives = [typedcall.ctypes_function] + [typedcall.ufunc] * (importlib.util.find_spec("numpy") is not None)
        for give in gives:
            with self.subTest(give=give.__name__), self.assertRaisesRegex(TypeError, "unbound method"):
                give(append)

    def test_static(self):
        self.assertEqual(typedcall.resolve(typed.Scaler.twice, "d->d")(4.0), 8.0)


class NoLeaks(unittest.TestCase):
    def test_calls_and_refusals_lose_no_references(self):
        marker = object()
        buffer = array.array("d", [1.0])
        f, g, h = resolve("same_object"), resolve("sum_of"), resolve("div")

        def everything():
            f(marker)
            g(buffer, 1)
            for call, args in ((g, (buffer, marker)), (h, (1.0, 0.0)), (f, ()), (h, (marker, 1.0))):
                try:
                    call(*args)
                except (TypeError, ZeroDivisionError):
                    pass
            scaler = typed.Scaler(2.0)
            typedcall.resolve(scaler.scale, "d->d")(1.0)
            try:
                typedcall.resolve(typed.inc, "O->O")
            except TypeError:
                pass

        watched = (marker, buffer, typed.inc, typed.Scaler, typedcall.TypedFunction, f, g, h)
        support.leaks.check(everything, 100, warm_up=3, unchanged=watched)
