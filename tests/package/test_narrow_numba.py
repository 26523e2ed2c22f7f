"""Tests functions with narrow parameters in Numba. Like the wrappers, they raise OverflowError for ints that do not
fit, and round doubles."""

import ctypes

import adapter_support
import support
from narrow_support import functions
import typedcall


@support.ON_CPYTHON
class Numba(adapter_support.NumbaCalls):
    module = functions

    def test_what_falls_back_without_a_result(self):
        seen = []

        def mine(x):
            seen.append(x)
            if x == 3:
                raise LookupError("three")

        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x < 5)
        typedcall.tag(mine, "i->i", ctypes.cast(made, ctypes.c_void_p).value,
                      flags=typedcall.Flags.FALLS_BACK)
        compiled = self.numba.njit(lambda x: mine(x))
        self.assertEqual([compiled(x) for x in (5, 4, 2**40, 6)], [None] * 4)
        self.assertEqual(seen, [4, 2**40])
        with self.assertRaisesRegex(LookupError, "three"):
            compiled(3)

    def test_a_literal_int_for_a_float(self):
        seen = []
        see = lambda a, b: seen.append(b) or 1
        mine = adapter_support.offering({"bf->b": see, "ld->l": see})
        self.assertEqual(self.numba.njit(lambda: mine(5, 16777217))(), 1)
        self.assertEqual(seen, [16777216.0])
        # Numba would convert this int to a double first, which gives a different float.
        with self.assertRaisesRegex(self.numba.errors.TypingError, "round the int in argument 2"):
            self.numba.njit(lambda: mine(5, 2**62 + 2**38 + 1))()

    def test_a_literal_int_beside_a_variable(self):
        mine = adapter_support.offering({"B->l": lambda a: 0, "b->l": lambda a: 1, "l->d": lambda a: 2})
        five = self.numpy.int8(5)
        for function in (lambda x: (mine(x), mine(-5)), lambda x: (mine(-5), mine(x))):
            self.assertEqual(set(self.numba.njit(function)(five)), {0, 1})

    def test_pointers_cannot_go_to_the_python_function(self):
        def mine(values, count):
            raise NotImplementedError

        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.c_int)(
            lambda values, count: count)
        typedcall.tag(mine, "&di->i", made)
        values = self.numpy.arange(3.0)
        compiled = self.numba.njit(lambda a, n: mine(a.ctypes, n))
        self.assertEqual(compiled(values, self.numpy.int32(3)), 3)
        with self.assertRaisesRegex(self.numba.errors.TypingError, "value of argument 2"):
            compiled(values, 3)
