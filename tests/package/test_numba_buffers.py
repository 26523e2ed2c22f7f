"""Tests typed functions that take buffers in Numba's nopython code."""

import ctypes
import unittest

import adapter_support
import typedcall
from adapter_support import nopython_call
from buffer_support import module
from typedcall import Flags

numba, numpy = adapter_support.library("numba"), adapter_support.library("numpy")


class Calls(unittest.TestCase):
    def test_a_view_of_a_row(self):
        norm = module.norm

        @numba.njit
        def total(matrix):
            result = 0.0
            for i in range(matrix.shape[0]):
                result += norm(matrix[i])
            return result

        self.assertEqual(total(numpy.array([[3.0, 4.0], [6.0, 8.0]])), 15.0)

    def test_an_array_that_is_made_there(self):
        norm, normalise = module.norm, module.normalise

        @numba.njit
        def made(n):
            x = numpy.full(n, 3.0)
            length = normalise(x)
            return length, norm(x)

        self.assertEqual(made(4), (6.0, 1.0))

    def test_what_is_written_is_seen(self):
        twice = module.twice

        @numba.njit
        def run(x):
            y = numpy.zeros(3)
            twice(x, y)
            return y[0] + y[1] + y[2]

        self.assertEqual(run(numpy.array([1.0, 2.0, 3.0])), 12.0)

    def test_without_the_gil(self):
        call = nopython_call(module.mean, nogil=True)
        self.assertEqual(call(numpy.array([1.0, 2.0])), 1.5)
        with self.assertRaisesRegex(ValueError, "no mean of nothing"):
            call(numpy.zeros(0))

    def test_reasons(self):
        read_only = numpy.ones(3)
        read_only.flags.writeable = False
        for name, given, text in (
            ("norm", numpy.ones(3, "f4"), "its elements are float32, not 'd' \\(double\\)"),
            ("norm", numpy.ones((2, 2)), "it has 2 dimensions, not one"),
            ("norm", numpy.ones(6)[::2], "its type does not say that it is contiguous"),
            ("normalise", read_only, "it is read-only, and '\\*d' is written to"),
            ("utf8_length", "text", "Numba has no UTF-8"),
        ):
            with self.subTest(text), self.assertRaisesRegex(numba.TypingError, text):
                nopython_call(getattr(module, name))(given)

    def test_what_is_no_bool_does_not_get_into_one(self):
        def count(flags):
            raise NotImplementedError

        made = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_ssize_t)(
            lambda at, n: sum(ctypes.string_at(at, n)))
        typedcall.tag(count, "*k?->l", ctypes.cast(made, ctypes.c_void_p))
        call = nopython_call(count)
        self.assertEqual(call(numpy.array([True, False, True])), 2)
        self.assertEqual(call(numpy.zeros(0, bool)), 0)
        for position in (0, 1, 99):
            flags = numpy.zeros(100, "u1")
            flags[position] = 2
            with self.assertRaisesRegex(ValueError, "bytes other than 0 and 1"):
                call(flags.view(bool))

    def test_a_pointer_to_bools_is_an_array_of_bools(self):
        def first(flags):
            raise NotImplementedError

        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda at: ctypes.string_at(at, 1)[0])
        for signature in ("&?->i", "&k?->i"):
            typedcall.tag(first, signature, ctypes.cast(made, ctypes.c_void_p))
            call = nopython_call(first)
            self.assertEqual((call(numpy.array([True])), call(numpy.array([False, True]))), (1, 0))
            others = numpy.array([2, 1], "u1")
            if "k" in signature:
                with self.assertRaisesRegex(ValueError, "bytes other than 0 and 1"):
                    call(others.view(bool))
            else:
                self.assertEqual((call(others.view(bool)), others.tolist()), (1, [1, 1]))
            # An address does not contain the number of elements.
            for values in (numpy.array([0.5]), numpy.array([True])):
                with self.assertRaisesRegex(numba.TypingError, "pass the array itself"):
                    numba.njit(lambda x: first(x.ctypes))(values)
            with self.assertRaisesRegex(numba.TypingError, "its elements are float64, not '\\?'"):
                call(numpy.array([0.5]))
            typedcall.untag(first)

    def test_complex_numbers(self):
        def function(x):
            raise NotImplementedError

        typedcall.tag(function, "*kZd->d", module.addresses["norm"])
        # The C function reads one double, which is the real part.
        self.assertEqual(nopython_call(function)(numpy.array([3 + 4j])), 3.0)

        given = []

        def times(x, k):
            given.append((x.format, x.tobytes(), k))
            return 42.0

        typedcall.tag(times, "*kZdi->d", module.addresses["times"])
        x = numpy.array([3 + 4j])
        self.assertEqual(nopython_call(times, 2)(x, 2**40), 42.0)
        self.assertEqual(given, [("Zd", x.tobytes(), 2**40)])

    def test_the_python_function_gets_a_copy(self):
        given = []

        def mean(x):
            given.append((x.format, x.readonly, x.tolist()))
            return 42.0

        typedcall.tag(mean, "*kd&d->i", module.addresses["mean_or_fall_back"],
                      flags=int(Flags.FALLS_BACK))
        self.assertEqual(nopython_call(mean)(numpy.zeros(0)), 42.0)
        self.assertEqual(given, [("d", True, [])])
        given.clear()

        def scaled(x, k):
            given.append((x.format, x.readonly, x.tolist(), k))
            for i in range(len(x)):
                x[i] *= 2
            return 1.0

        typedcall.tag(scaled, "*di->d", module.addresses["normalise"])
        x = numpy.arange(4.0)
        self.assertEqual(nopython_call(scaled, 2)(x, 2**40), 1.0)
        self.assertEqual(given, [("d", False, [0.0, 1.0, 2.0, 3.0], 2**40)])
        self.assertEqual(x.tolist(), [0.0, 2.0, 4.0, 6.0])
