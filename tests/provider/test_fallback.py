# Tests what functions that fall back return in Python. fallback_entries_test.cc covers consumers.
import inspect
import math
import sys
import unittest

import leaks
import provider_fallback as m


class Values(unittest.TestCase):
    def test_are_those_of_the_function(self):
        for name in ("root", "named_root", "root_that_throws", "root_otherwise", "c_root",
                     "c_root_otherwise", "c_root_that_throws"):
            with self.subTest(name):
                f = getattr(m, name)
                self.assertEqual((f(4.0), f(2), f(0.0)), (2.0, math.sqrt(2), 0.0))
                self.assertIs(type(f(4)), float)
        self.assertEqual((m.is_small(3), m.is_small(10)), (True, False))
        self.assertEqual(m.turned(1 + 2j), -2 + 1j)
        self.assertEqual((m.wide(3.0), m.text(0), m.text(1)), (1.5, None, "text"))
        self.assertEqual((m.object(7), m.answer(), m.factorial(20)), (7, 42, math.factorial(20)))
        self.assertEqual((m.half(3.0), m.gcd(4, 6), m.gcd(b=9, a=6), m.gcd(9)), (1.5, 2, 3, 3))
        self.assertEqual((m.is_even(2), m.is_even(3)), (True, False))
        self.assertIsNone(m.check(1.0))
        self.assertIsNone(m.c_check(1.0, None))
        self.assertEqual(m.of_module(3.0), 3.0)
        self.assertEqual([m.twice(2), m.twice(2.5)], [4, 5.0])
        self.assertEqual(m.named_root(), 2.0)

    def test_infinity_and_nan_are_values(self):
        self.assertEqual(m.root(math.inf), math.inf)
        self.assertTrue(math.isnan(m.root(math.nan)))
        self.assertEqual(math.copysign(1, m.root(-0.0)), -1)

    def test_references(self):
        value = m.object(10 ** 6)
        self.assertLessEqual(sys.getrefcount(value), 2)


class WithoutAResult(unittest.TestCase):
    def test_nothing_is_stated(self):
        for f in (m.root, m.named_root, m.root_that_throws, m.is_small, m.turned, m.wide, m.text,
                  m.object, m.c_root, m.c_root_that_throws, lambda x: m.c_check(x, None),
                  m.of_module, m.twice, lambda _: m.no_answer()):
            with self.assertRaises(ValueError) as caught:
                f(-1)
            self.assertEqual(str(caught.exception), "no result for these arguments")
        for f in (m.root_that_throws, m.c_root_that_throws):
            with self.assertRaisesRegex(ValueError, "^no result for these arguments$"):
                f(-11.0)

    def test_what_it_throws(self):
        with self.assertRaisesRegex(IndexError, "negative: -1.0"):
            m.half(-1.0)
        for f in (lambda: m.gcd(-1, 2), lambda: m.check(-1.0), lambda: m.is_even(-1)):
            with self.assertRaisesRegex(ValueError, "^negative$"):
                f()

    def test_otherwise(self):
        for f in (m.root_otherwise, m.c_root_otherwise):
            self.assertEqual(f(-1.0), -1.0)
            with self.assertRaisesRegex(ValueError, "far below"):
                f(-11.0)
            with self.assertRaisesRegex(LookupError, "set, not thrown"):
                f(-101.0)
        self.assertEqual(m.factorial(30), math.factorial(30))
        with self.assertRaisesRegex(ValueError, "negative: -3"):
            m.factorial(-3)

    def test_wrong_arguments_are_as_ever(self):
        with self.assertRaises(TypeError):
            m.root("x")
        with self.assertRaises(OverflowError):
            m.factorial(1 << 70)
        with self.assertRaises(TypeError):
            m.gcd()

    def test_nothing_leaks(self):
        def run():
            for f, x in ((m.root, -1.0), (m.half, -1.0), (m.factorial, -1), (m.factorial, 30),
                         (m.root_otherwise, -101.0), (m.object, -1)):
                try:
                    f(x)
                except (ValueError, LookupError):
                    pass

        leaks.check(run, 1000, warm_up=100, blocks=500)


class Appearance(unittest.TestCase):
    def test_signatures(self):
        self.assertEqual(str(inspect.signature(m.named_root)), "(x=4.0)")
        self.assertEqual(str(inspect.signature(m.gcd)), "(a, b=6)")
        self.assertEqual(m.factorial.__doc__, "n!")
