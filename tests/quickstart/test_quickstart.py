"""Tests the quickstart example."""

import inspect
import math
import sys
import unittest

import quickstart_c
import quickstart_functions
import quickstart_integrate
import quickstart_libm
import quickstart_measure

MAY_RAISE, DIFFERS = 0x0004, 0x0080
SIDE_TABLE, HEADER = "def row", "method metadata"
OWN_ROWS = SIDE_TABLE if sys.version_info >= (3, 11) else HEADER
COMPARED = 20_000


class Functions(unittest.TestCase):
    def test_inc_in_cxx_and_in_c_are_the_same_function(self):
        for inc in (quickstart_functions.inc, quickstart_c.inc):
            self.assertEqual(inc(41), 42)
            self.assertEqual(inc(-2), -1)
            self.assertEqual(inc(True), 2)
            self.assertEqual(inc.__name__, "inc")
            self.assertEqual(str(inspect.signature(inc)), "(x, /)")
            with self.assertRaises(OverflowError):
                inc(2**63)
            for arguments in ((), (1.5,)):
                with self.assertRaises(TypeError):
                    inc(*arguments)

    def test_abs_chooses_by_type(self):
        self.assertIs(type(quickstart_functions.abs(-3)), int)
        self.assertIs(type(quickstart_functions.abs(-3.5)), float)
        self.assertEqual(quickstart_functions.abs(True), 1)
        self.assertEqual(math.copysign(1, quickstart_functions.abs(-0.0)), 1)
        with self.assertRaisesRegex(TypeError, "'l->l', 'd->d'"):
            quickstart_functions.abs("3")

    def test_div_raises_and_returns_minus_one(self):
        self.assertEqual(quickstart_functions.div(-3, 3), -1.0)
        with self.assertRaises(ZeroDivisionError):
            quickstart_functions.div(1, 0)


class Tags(unittest.TestCase):
    def test_own_rows(self):
        self.assertEqual(
            [(s, w) for s, _, w in quickstart_measure.entries(quickstart_functions.abs)],
            [("l->l", OWN_ROWS), ("d->d", OWN_ROWS)],
        )
        self.assertEqual(quickstart_measure.entries(quickstart_c.inc)[0][0::2], ("l->l", OWN_ROWS))
        self.assertTrue(quickstart_measure.entries(quickstart_functions.div)[0][1] & MAY_RAISE)

    def test_math_is_tagged_from_outside(self):
        self.assertGreater(len(quickstart_libm.tagged), 25)
        for name in quickstart_libm.tagged:
            ((signature, _, where),) = quickstart_measure.entries(getattr(math, name))
            self.assertIn(signature, ("d->d", "dd->d", "d&d->i", "dd&d->i"))
            self.assertEqual(where, SIDE_TABLE)

    def test_what_is_not_tagged_offers_nothing(self):
        for thing in (len, math.floor, [].append, lambda x: x, 5, None, int, math):
            self.assertEqual(quickstart_measure.entries(thing), [])

    def test_asking_for_another_signature_lists_what_is_offered(self):
        with self.assertRaisesRegex(TypeError, "inc does not offer 'dd->d'; it offers 'l->l'"):
            quickstart_measure.measure(quickstart_functions.inc, "dd->d")


class Agreement(unittest.TestCase):
    def test_entries_without_differs_agree_with_python(self):
        functions = [getattr(math, name) for name in quickstart_libm.tagged]
        functions += [getattr(quickstart_functions, name) for name in ("inc", "add", "abs", "div")]
        for function in functions + [quickstart_c.inc]:
            for signature, flags, _ in quickstart_measure.entries(function):
                with self.subTest(function=function.__name__, signature=signature):
                    result = quickstart_measure.compare(function, signature, COMPARED, 7)
                    self.assertEqual(result["compared"], COMPARED)
                    if not flags & DIFFERS:
                        for kind in ("only_python_raises", "only_native_raises", "different"):
                            self.assertEqual(result[kind], 0, result)

    def test_differences_are_seen_where_there_are_some(self):
        gamma = quickstart_measure.compare(math.gamma, "d->d", COMPARED, 7)
        self.assertGreater(gamma["only_python_raises"], 1000)
        self.assertRegex(gamma["first_raise"], "(ValueError|OverflowError), native -?(nan|inf)")
        self.assertGreater(gamma["largest_ulps"], 0)
        division = quickstart_measure.compare(quickstart_functions.div, "dd->d", COMPARED, 7)
        self.assertGreater(division["both_raise"], 100)

    def test_where_libm_returns_nan_both_raise(self):
        for name in ("sqrt", "log", "acos"):
            both = quickstart_measure.compare(getattr(math, name), "d&d->i", COMPARED, 7)
            self.assertGreater(both["both_raise"], 1000)
            self.assertEqual((both["only_python_raises"], both["different"]), (0, 0))

    def test_measuring_gives_three_times(self):
        times = quickstart_measure.measure(quickstart_functions.add, "dd->d")
        self.assertEqual(sorted(times), ["boxed", "direct", "ffi"])
        for median, spread in times.values():
            self.assertGreater(median, 0)
            self.assertGreaterEqual(spread, 0)


class Consumer(unittest.TestCase):
    def integrate(self, *args, **kwargs):
        return quickstart_integrate.integrate(*args, **kwargs)

    def test_both_ways_give_the_same(self):
        unboxed = self.integrate(math.sin, 0.0, math.pi)
        boxed = self.integrate(math.sin, 0.0, math.pi, boxed=True)
        self.assertEqual(unboxed[:2], boxed[:2])
        self.assertEqual((unboxed[2], boxed[2]), ("unboxed", "boxed"))
        self.assertAlmostEqual(unboxed[0], 2.0, places=9)

    def test_an_overload_is_found(self):
        value, _, how = self.integrate(quickstart_functions.abs, -1.0, 2.0)
        self.assertEqual(how, "unboxed")
        self.assertAlmostEqual(value, 2.5)

    def test_callables_without_a_native_function_are_called_boxed(self):
        for function in (lambda x: 2 * x, float, abs):
            value, _, how = self.integrate(function, 0.0, 1.0)
            self.assertEqual(how, "boxed")
            self.assertAlmostEqual(value, 1.0 if function not in (float, abs) else 0.5)

    def test_python_errors_come_through_where_libm_returns_nan(self):
        with self.assertRaisesRegex(ValueError, "math domain error|nonnegative"):
            self.integrate(math.sqrt, -1.0, 1.0)
        with self.assertRaises(OverflowError):
            self.integrate(math.exp, 0.0, 1e6)

    def test_an_integrand_that_is_nan_ends(self):
        value, evaluations, _ = self.integrate(lambda x: math.nan, 0.0, 1.0)
        self.assertTrue(math.isnan(value))
        self.assertLess(evaluations, 100)

    def test_errors_of_the_integrand(self):
        def fails(x):
            raise KeyError(x)

        with self.assertRaises(KeyError):
            self.integrate(fails, 0.0, 1.0)
        with self.assertRaises(TypeError):
            self.integrate(lambda x: "text", 0.0, 1.0)

    def test_refusals(self):
        with self.assertRaisesRegex(TypeError, "needs a callable, not 'int'"):
            self.integrate(5, 0.0, 1.0)
        for bounds in ((0.0, math.inf), (math.nan, 1.0)):
            with self.assertRaises(ValueError):
                self.integrate(math.sin, *bounds)
        with self.assertRaises(ValueError):
            self.integrate(math.sin, 0.0, 1.0, 0.0)
