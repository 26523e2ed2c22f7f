"""Functions with narrow parameters take wider arguments in Numba, as their wrappers do: ints by a check
of the range that raises the wrapper's OverflowError, doubles rounded to float."""

import ctypes
import unittest

import adapter_support
import support
from narrow_support import LIMITS, functions, outcome
import typedcall
from support import leaks


@support.ON_CPYTHON
class Numba(adapter_support.NumbaCalls):
    module = functions

    def test_every_integer_type_with_every_other(self):
        dtypes = {letters: self.numpy.dtype(letters) for letters in "bBhHiIlL"}
        for wanted, (low, high) in LIMITS.items():
            function = getattr(functions, "same_" + wanted)
            compiled = self.compiled("same_" + wanted)
            for given, (least, most) in LIMITS.items():
                values = {least, most, low, high, low - 1, high + 1, 0, -1, 1, 77}
                for value in sorted(value for value in values if least <= value <= most):
                    with self.subTest(wanted, given=given, value=value):
                        self.assertEqual(outcome(compiled, dtypes[given].type(value)),
                                         outcome(function, value))

    def test_the_native_function_is_called(self):
        for name, value in (("same_i", 5), ("same_b", 5), ("same_L", 5), ("same_f", 1.5)):
            compiled = self.compiled(name)
            compiled(value)
            before = functions.calls()
            compiled(value)
            self.assertEqual(functions.calls(), before + 1)

    def test_floats_are_rounded_as_by_the_wrapper(self):
        compiled = self.compiled("same_f")
        for value in (0.1, -0.0, 1e300, -1e300, 5e-324, float("inf"), 16777217.0, 3, 16777217,
                      2**53 + 1, 2**62 + 2**38 + 1, -(2**63), 1 + 2**-24 + 2**-53):
            with self.subTest(value=value):
                self.assertEqual(repr(compiled(value)), repr(functions.same_f(value)))
        self.assertNotEqual(compiled(float("nan")), compiled(float("nan")))
        # A float32 would round twice here, a double once.
        value = self.numpy.uint64(2**63 + 2**39 + 1)
        self.assertEqual(compiled(value), functions.same_f(int(value)))

    def test_no_int_from_a_float(self):
        for value in (1.0, 1j):
            with self.assertRaisesRegex(self.numba.errors.TypingError, "has nothing"):
                self.compiled("same_i")(value)

    def test_several_arguments(self):
        compiled = self.compiled("times", 3)
        for arguments in ((1.5, 3, 7), (0.1, -(2**15), 255), (1, 2**15, 3), (1.0, 3, -1),
                          (True, False, True), (0.1, 2**40, -2)):
            with self.subTest(arguments=arguments):
                self.assertEqual(outcome(compiled, *arguments), outcome(functions.times, *arguments))

    def test_the_exception_of_overloads(self):
        for name in ("int_or_float", "float_or_int", "char_or_long", "three"):
            function, compiled = getattr(functions, name), self.compiled(name)
            for value in (5, 127, 128, -129, -1, 2**31, 2**62, self.numpy.uint64(2**63)):
                with self.subTest(name, value=value):
                    self.assertEqual(outcome(compiled, value), outcome(function, int(value)))

    def test_an_int_that_was_too_large_is_not_made_floating(self):
        compiled = self.compiled("two_arguments", 2)
        for arguments in ((1, 1), (128, 1), (1, 128), (128, 128), (2**31, 1), (1, 1.5), (128, 0.5)):
            with self.subTest(arguments=arguments):
                self.assertEqual(outcome(compiled, *arguments),
                                 outcome(functions.two_arguments, *arguments))

    def test_what_falls_back(self):
        compiled = self.compiled("positive_i")
        for value in (5, -5, 2**31 - 1, 2**31, -(2**31) + 1000, -(2**40)):
            self.assertEqual(outcome(compiled, value), outcome(functions.positive_i, value))
        # A tagged function that takes any int.
        def any_int(x):
            return x % 1000

        entry = typedcall.entries(functions.positive_i)[0]
        typedcall.tag(any_int, "i&i->i", entry.address, flags=entry.flags)
        self.addCleanup(typedcall.untag, any_int)
        compiled = self.numba.njit(lambda x: any_int(x))
        self.assertEqual([compiled(x) for x in (5, -1, 2**40 + 5)], [5, 999, 781])

    def test_what_falls_back_without_a_result(self):
        seen = []

        def mine(x):
            seen.append(x)
            if x == 3:
                raise LookupError("three")

        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x < 5)
        typedcall.tag(mine, "i->i", ctypes.cast(made, ctypes.c_void_p).value,
                      flags=typedcall.Flags.FALLS_BACK)
        self.addCleanup(typedcall.untag, mine)
        compiled = self.numba.njit(lambda x: mine(x))
        self.assertEqual([compiled(x) for x in (5, 4, 2**40, 6)], [None] * 4)
        self.assertEqual(seen, [4, 2**40])
        with self.assertRaisesRegex(LookupError, "three"):
            compiled(3)

    def test_a_literal_int_for_a_float(self):
        def mine(a, b):
            raise NotImplementedError

        seen = []
        made = [ctypes.CFUNCTYPE(result, *types)(lambda a, b: seen.append(b) or 1)
                for result, types in ((ctypes.c_byte, (ctypes.c_byte, ctypes.c_float)),
                                      (ctypes.c_long, (ctypes.c_long, ctypes.c_double)))]
        typedcall.tag(mine, ("bf->b", "ld->l"), made)
        self.addCleanup(typedcall.untag, mine)
        self.assertEqual(self.numba.njit(lambda: mine(5, 16777217))(), 1)
        self.assertEqual(seen, [16777216.0])
        # By way of a double it would be another float: the nearest one is not what the wrapper takes.
        with self.assertRaisesRegex(self.numba.errors.TypingError, "round the int in argument 2"):
            self.numba.njit(lambda: mine(5, 2**62 + 2**38 + 1))()

    def test_a_literal_int_beside_a_variable(self):
        def mine(a):
            raise NotImplementedError

        made = [ctypes.CFUNCTYPE(result, argument)(lambda a, n=n: n) for n, (result, argument) in
                enumerate(((ctypes.c_long, ctypes.c_ubyte), (ctypes.c_long, ctypes.c_byte),
                           (ctypes.c_double, ctypes.c_long)))]
        typedcall.tag(mine, ("B->l", "b->l", "l->d"), made)
        self.addCleanup(typedcall.untag, mine)
        five = self.numpy.int8(5)
        for function in (lambda x: (mine(x), mine(-5)), lambda x: (mine(-5), mine(x))):
            self.assertEqual(set(self.numba.njit(function)(five)), {0, 1})

    def test_no_result(self):
        compiled = self.compiled("nothing")
        before = functions.calls()
        self.assertIsNone(compiled(127))
        self.assertEqual(functions.calls(), before + 1)
        self.assertEqual(outcome(compiled, 128), outcome(functions.nothing, 128))

    def test_through_several_frames_and_in_try(self):
        same = functions.same_b

        @self.numba.njit
        def inner(x):
            return same(x) + 1

        @self.numba.njit
        def guarded(x):
            try:
                return inner(x)
            except Exception:
                return -77

        @self.numba.njit
        def guarded_here(x):
            try:
                return same(x) + 1
            except Exception:
                return -77

        for function in (guarded, guarded_here):
            self.assertEqual([function(x) for x in (1, 127, 128, -129)], [2, 128, -77, -77])
        with self.assertRaisesRegex(OverflowError, "does not fit a signed integer of 1 bytes"):
            inner(128)
        self.assertEqual(inner(1), 2)

    def test_without_the_gil(self):
        same = functions.same_h

        @self.numba.njit(nogil=True)
        def total(values):
            result = 0
            for value in values:
                result += same(value)
            return result

        good = self.numpy.arange(20000)
        bad = self.numpy.array([1] * 1000 + [2**15])
        self.check_in_threads(total, good, bad, sum(range(20000)), OverflowError,
                              "signed integer of 2 bytes")

    def test_exceptions_do_not_leak(self):
        compiled = self.compiled("same_b")
        leaks.check(lambda: outcome(compiled, 128), 2000, warm_up=100, blocks=500)

    def test_pointers_cannot_go_to_the_python_function(self):
        def mine(values, count):
            raise NotImplementedError

        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.c_int)(
            lambda values, count: count)
        typedcall.tag(mine, "&di->i", made)
        self.addCleanup(typedcall.untag, mine)
        values = self.numpy.arange(3.0)
        compiled = self.numba.njit(lambda a, n: mine(a.ctypes, n))
        self.assertEqual(compiled(values, self.numpy.int32(3)), 3)
        with self.assertRaisesRegex(self.numba.errors.TypingError, "value of argument 2"):
            compiled(values, 3)


if __name__ == "__main__":
    unittest.main()
