"""Tests callbacks: exceptions, threads and lifetimes. An exception is raised after the library has returned."""

import ctypes
import gc
import math
import sys
import unittest

import support
import typedcall
from callback_support import OF_NUMBER, NLOPT, GSL_ODE, MONTE, call, doubles, functions
from support import leaks


class Exceptions(unittest.TestCase):
    def test_one_waits_until_the_library_returns(self):
        before = functions.calls()
        for f in (functions.root, functions.raising_root):
            with self.assertRaisesRegex(ValueError, "no root") as caught:
                with typedcall.callback(f, OF_NUMBER) as made:
                    self.assertTrue(math.isnan(call(made, "dP->d", -1.0, ...)))
                    # The function is not called while an exception is pending.
                    calls = functions.calls()
                    self.assertTrue(math.isnan(call(made, "dP->d", 4.0, ...)))
                    self.assertEqual(functions.calls(), calls)
            self.assertIsNone(caught.exception.__context__)
            made.check()
            self.assertEqual(call(made, "dP->d", 4.0, ...), 2)
        self.assertGreater(functions.calls(), before)

    def test_the_reason_of_a_failure_that_the_library_tells(self):
        with self.assertRaisesRegex(ValueError, "no root") as caught:
            with typedcall.callback(functions.root, OF_NUMBER) as made:
                call(made, "dP->d", -1.0, ...)
                raise RuntimeError("GSL failed")
        self.assertIsInstance(caught.exception.__context__, RuntimeError)

    def test_a_context_that_is_no_exception(self):
        for wrong in (5, RuntimeError, "text"):
            made = typedcall.callback(functions.root, OF_NUMBER)
            call(made, "dP->d", -1.0, ...)
            with self.assertRaisesRegex(ValueError, "no root") as caught:
                made.__exit__(None, wrong, None)
            self.assertIsNone(caught.exception.__context__)

    def test_the_error_value(self):
        for declaration, signature, options, error in [
                ("double(double x, void *p)", "dP->d", {"error": math.inf}, math.inf),
                (GSL_ODE, "dPPP->i", {}, -1), (GSL_ODE, "dPPP->i", {"error": 9}, 9)]:
            f, x = (functions.root, [-1.0]) if signature == "dP->d" else (
                functions.checked_decay, [-1.0, doubles(1, 2), doubles(0, 0)])
            made = typedcall.callback(f, declaration, **options)
            self.assertEqual(call(made, signature, *x, ...), error)
            self.assertRaises(ValueError, made.check)

    def test_python_is_called_where_it_falls_back(self):
        entry = typedcall.entries(functions.checked_squares)[0]

        def f(x, gradient):
            self.assertEqual((type(x), x.format, x.readonly, list(x)), (memoryview, "d", True, [-1, 2]))
            for i in range(len(gradient)):
                gradient[i] = 10 + i
            return 5

        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        made = typedcall.callback(f, NLOPT)
        gradient = doubles(0, 0)
        self.assertEqual(call(made, "IPPP->d", 2, doubles(-1, 2), gradient, ...), 5)
        self.assertEqual(list(gradient), [10, 11])

    def test_what_was_pending_stays(self):
        entry = typedcall.entries(functions.root)[0]

        def f(x):
            raise KeyError(x)

        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        made = typedcall.callback(f, OF_NUMBER)
        try:
            raise LookupError("mine")
        except LookupError:
            call(made, "dP->d", -1.0, ...)
            self.assertEqual(sys.exc_info()[1].args, ("mine",))
        self.assertRaises(KeyError, made.check)

    def test_no_data_pointer_at_all(self):
        made = typedcall.callback(functions.root, OF_NUMBER)
        self.assertTrue(math.isnan(call(made, "dP->d", 1.0, None)))
        made = typedcall.callback(functions.decay, GSL_ODE)
        self.assertEqual(call(made, "dPPP->i", 1.0, doubles(1, 2), doubles(1, 2), None), -1)

    def test_null_arrays(self):
        made = typedcall.callback(functions.total, MONTE.replace("double *x", "const double *x"))
        self.assertTrue(math.isnan(call(made, "PNP->d", None, 3, ...)))
        self.assertRaisesRegex(ValueError, "NULL", made.check)

    def test_an_exception_that_nobody_asks_for(self):
        seen = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda each: seen.append(repr(each.exc_value))
        made = typedcall.callback(functions.root, OF_NUMBER)
        call(made, "dP->d", -1.0, ...)
        del made
        gc.collect()
        self.assertEqual(seen, ["ValueError('no root')"])


class Lives(unittest.TestCase):
    @support.timing
    @support.WHERE_FREED_MEMORY_GOES
    def test_a_million_calls_leave_nothing(self):
        with typedcall.callback(functions.root, OF_NUMBER) as made:
            prototype = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)(made.address)
            data = made.data

            def run():
                for _ in range(200):
                    prototype(4.0, data)
                prototype(-1.0, data)
                self.assertRaises(ValueError, made.check)
                typedcall.callback(functions.product, NLOPT)

            leaks.check(run, 5000, warm_up=1000, kilobytes=2000)

    def test_threads(self):
        class Flaw(Exception):
            pass

        entry = typedcall.entries(functions.root)[0]

        def f(x):
            raise Flaw(x)

        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        made = typedcall.callback(f, OF_NUMBER)
        prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)(made.address)
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        others = []
        sys.unraisablehook = lambda each: others.append(each.exc_value)
        support.at_once(prototype, [(-1.0, made.data)] * 8)
        self.assertRaises(Flaw, made.check)
        made.check()
        self.assertTrue(all(isinstance(each, Flaw) for each in others))
