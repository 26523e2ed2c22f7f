# Tests numbers in the generated wrappers.
import ctypes
import decimal
import fractions
import math
import struct
import sys
import unittest

import provider_numbers as m

# (name, bits, signed), with the widths of 64-bit Linux.
INTEGERS = [
    ("schar", 8, True), ("uchar", 8, False), ("short", 16, True), ("ushort", 16, False),
    ("int", 32, True), ("uint", 32, False), ("long", 64, True), ("ulong", 64, False),
    ("longlong", 64, True), ("ulonglong", 64, False), ("ssize", 64, True), ("size", 64, False),
]


def limits(bits, signed):
    if signed:
        return -2 ** (bits - 1), 2 ** (bits - 1) - 1
    return 0, 2 ** bits - 1


class Raises:
    def __index__(self):
        raise ZeroDivisionError("from __index__")

    def __float__(self):
        raise LookupError("from __float__")

    def __bool__(self):
        raise KeyError("from __bool__")


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Float:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


class Integers(unittest.TestCase):
    def each(self):
        for name, bits, signed in INTEGERS:
            with self.subTest(type=name):
                yield getattr(m, name), *limits(bits, signed)

    def test_inside(self):
        for echo, low, high in self.each():
            for value in {low, low + 1, -1, 0, 1, 42, high // 2, high - 1, high}:
                if low <= value <= high:
                    self.assertEqual(echo(value), value)
                    self.assertIs(type(echo(value)), int)

    def test_outside(self):
        for echo, low, high in self.each():
            for value in (low - 1, high + 1, low - 2 ** 64, high + 2 ** 64, 2 ** 64, -2 ** 63 - 1,
                          -2 ** 64, 2 ** 1000, -2 ** 1000):
                with self.assertRaises(OverflowError, msg=value):
                    echo(value)

    def test_bool_is_an_int(self):
        for echo, _, _ in self.each():
            self.assertEqual((echo(False), echo(True)), (0, 1))
            self.assertIs(type(echo(True)), int)

    def test_subclass_counts_as_its_value(self):
        class Subclass(int):
            def __index__(self):
                raise AssertionError("not asked")

        for echo, low, high in self.each():
            self.assertEqual(echo(Subclass(high)), high)
            with self.assertRaises(OverflowError):
                echo(Subclass(high + 1))

    def test_index(self):
        for echo, low, high in self.each():
            self.assertEqual((echo(Index(low)), echo(Index(high))), (low, high))
            for value in (low - 1, high + 1):
                with self.assertRaises(OverflowError):
                    echo(Index(value))
            with self.assertRaises(TypeError):
                echo(Index(1.0))
            with self.assertRaisesRegex(ZeroDivisionError, "from __index__"):
                echo(Raises())

    def test_other_types(self):
        for echo, _, _ in self.each():
            for value in (1.0, math.nan, 1j, None, "1", b"1", [1], Float(1.0), object(), int,
                          decimal.Decimal(1), fractions.Fraction(1)):
                with self.assertRaises(TypeError, msg=value):
                    echo(value)

    def test_function_is_not_called_without_its_argument(self):
        before = m.call_count()
        for value in ("1", 2 ** 63, Raises()):
            with self.assertRaises(Exception):
                m.count_call(value)
        self.assertEqual(m.call_count(), before)
        self.assertIsNone(m.count_call(1))
        self.assertEqual(m.call_count(), before + 1)

    def test_references(self):
        value, index = 2 ** 62 + 1, Index(2 ** 62 + 2)
        before = sys.getrefcount(value), sys.getrefcount(index), sys.getrefcount(index.value)
        for _ in range(100):
            m.long(value)
            m.long(index)
            with self.assertRaises(OverflowError):
                m.schar(index)
        after = sys.getrefcount(value), sys.getrefcount(index), sys.getrefcount(index.value)
        self.assertEqual(after, before)


class Bools(unittest.TestCase):
    def test_truth(self):
        for value in (True, 1, -1, 2 ** 100, 0.5, "no", [0], object()):
            self.assertIs(m.bool(value), True)
        for value in (False, 0, 0.0, "", [], None):
            self.assertIs(m.bool(value), False)

    def test_raises(self):
        with self.assertRaisesRegex(KeyError, "from __bool__"):
            m.bool(Raises())


class Floats(unittest.TestCase):
    def test_values(self):
        for value in (0.0, 1.5, -1.0, math.pi, sys.float_info.max, sys.float_info.min, 5e-324,
                      math.inf, -math.inf):
            self.assertEqual(m.double(value), value)
            self.assertIs(type(m.double(value)), float)
        self.assertTrue(math.isnan(m.double(math.nan)))

    def test_negative_zero(self):
        self.assertTrue(m.is_negative_zero(-0.0))
        self.assertFalse(m.is_negative_zero(0.0))
        for echo in (m.double, m.float):
            self.assertEqual(math.copysign(1, echo(-0.0)), -1)

    def test_ints_and_bools(self):
        for echo in (m.double, m.float):
            for value in (0, 1, -1, 2 ** 24, True, Index(5), Index(True)):
                self.assertEqual(echo(value), float(value))
                self.assertIs(type(echo(value)), float)
        self.assertEqual(m.double(2 ** 53 + 1), 2.0 ** 53)
        self.assertEqual(m.double(2 ** 1023), 2.0 ** 1023)

    def test_huge_ints(self):
        for echo in (m.double, m.float):
            for value in (2 ** 1024, -10 ** 400, Index(2 ** 1024)):
                with self.assertRaises(OverflowError):
                    echo(value)

    def test_single_precision_rounds_as_c_does(self):
        for value in (0.1, 1 / 3, 1e-46, 16777217, 3.4e38, 1e300, -1e300):
            self.assertEqual(m.float(value), ctypes.c_float(value).value)
        self.assertEqual(m.float(0.1), struct.unpack("f", struct.pack("f", 0.1))[0])

    def test_float_method(self):
        class Subclass(float):
            def __float__(self):
                raise AssertionError("not asked")

        for echo in (m.double, m.float):
            self.assertEqual(echo(Float(2.5)), 2.5)
            self.assertEqual(echo(Subclass(2.5)), 2.5)
            self.assertEqual(echo(fractions.Fraction(5, 2)), 2.5)
            with self.assertRaisesRegex(LookupError, "from __float__"):
                echo(Raises())
            with self.assertRaises(TypeError):
                echo(Float(1))

    def test_minus_one_is_no_error(self):
        for echo in (m.double, m.float):
            for value in (-1.0, -1, Float(-1.0), Index(-1)):
                self.assertEqual(echo(value), -1.0)

    def test_other_types(self):
        for echo in (m.double, m.float):
            for value in (None, "1.0", b"1", 1j, [1.0], object()):
                with self.assertRaises(TypeError, msg=value):
                    echo(value)


class Counts(unittest.TestCase):
    def assert_refused(self, function, *args, **kwargs):
        with self.assertRaisesRegex(TypeError, r"%s\(\)" % function.__name__):
            function(*args, **kwargs)

    def test_no_arguments(self):
        self.assertEqual(m.nothing(), 7)
        for args in ((1,), (None,), (1, 2)):
            self.assert_refused(m.nothing, *args)

    def test_one_argument(self):
        for args in ((), (1, 2), (1, 2, 3)):
            self.assert_refused(m.long, *args)

    def test_several_arguments(self):
        good = (-1, 2, True, 0.5, 3)
        self.assertEqual(m.weighted(*good), -1 + 20 + 100 + 500 + 30000)
        for count in (0, 1, 4, 6, 20):
            with self.assertRaisesRegex(
                    TypeError, r"weighted\(\) takes exactly 5 arguments \(%d given\)" % count):
                m.weighted(*([1] * count))
        self.assertEqual(m.nine(*range(1, 10)), sum(i * i for i in range(1, 10)))

    def test_every_position_is_converted(self):
        good = [-1, 2, True, 0.5, 3.0]
        for position, bad, error in ((0, 128, OverflowError), (0, 1.0, TypeError),
                                     (1, -1, OverflowError), (1, None, TypeError),
                                     (2, Raises(), KeyError), (3, "x", TypeError),
                                     (3, 2 ** 1024, OverflowError), (4, Raises(), LookupError)):
            args = list(good)
            args[position] = bad
            with self.assertRaises(error, msg=position):
                m.weighted(*args)

    def test_no_keywords(self):
        for function, args in ((m.nothing, ()), (m.long, ()), (m.long, (1,)),
                               (m.weighted, (1, 2, 3, 4)), (m.weighted, (1, 2, 3, 4, 5))):
            with self.assertRaisesRegex(TypeError, "keyword"):
                function(*args, x=1)
