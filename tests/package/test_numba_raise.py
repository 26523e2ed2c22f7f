"""Tests functions that raise, return a status, fall back or need the GIL in Numba's nopython code."""

import concurrent.futures
import ctypes
import signal
import sys

import adapter_support
import support
import typedcall
from adapter_support import nopython_call as compiled
from narrow_support import functions, outcome
from support import leaks
from typedcall import Flags
from typedcall.native import _native

numba = adapter_support.library("numba")
numpy = adapter_support.library("numpy")
others = support.build("typed_functions")
fallbacks = support.build("fallback_functions")
#: Functions that raise exceptions. Each row contains an argument and the result, an argument that raises, and the type
#: and the text of the exception.
RAISING = ((functions.checked_i, 1, 1, 13, ValueError, "thirteen"),
           (fallbacks.tenfold, 4.0, 2.0, -2000.0, IndexError, "far below"),
           (fallbacks.tenfold, -1.0, -10.0, -2000.0, IndexError, "far below"),
           (functions.same_h, 1, 1, 2**15, OverflowError, "signed integer of 2 bytes"))
LIBC = ctypes.CDLL(None)  # some C libraries lack C11's threads


class Raising(adapter_support.NumbaCalls):
    def setUp(self):
        self.addCleanup(functions.keep, None)

    def test_the_very_object(self):
        class Mine(Exception):
            pass

        for options in ({}, {"nogil": True}):
            exception = Mine("text", {"with": "arguments"})
            functions.keep(exception)
            call = compiled(functions.raises, **options)
            self.assertEqual(call(1.0), 1.0)
            with self.assertRaises(Mine) as caught:
                call(-2.0)
            self.assertIs(caught.exception, exception)
            self.assertIsNone(exception.__context__)
            self.assertIsNone(exception.__cause__)

    def test_what_it_was_raised_in(self):
        def mine(x):
            try:
                return 1 // 0
            except ZeroDivisionError:
                raise KeyError(x)

        never = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int))(
            lambda x, place: 1)
        typedcall.tag(mine, "i&i->i", ctypes.cast(never, ctypes.c_void_p).value,
                      flags=Flags.FALLS_BACK)
        self.addCleanup(lambda: never)
        for call in (mine, compiled(mine), compiled(mine, nogil=True)):
            try:
                raise IndexError
            except IndexError as outer:
                with self.assertRaises(KeyError) as caught:
                    call(5)
                context = caught.exception.__context__
                self.assertIs(type(context), ZeroDivisionError)
                self.assertIs(context.__context__, outer)

        def mine(x):
            raise NotImplementedError

        # The error value of this function is -0.0.
        negated = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: -x)
        typedcall.tag(mine, "d->d", ctypes.cast(negated, ctypes.c_void_p).value,
                      flags=Flags.NEEDS_THREAD | Flags.MAY_RAISE | Flags.ERROR_IS_NEG_ZERO)
        self.addCleanup(lambda: negated)
        self.assertEqual([compiled(mine)(x) for x in (0.0, 1.0)], [-0.0, -1.0])

    def test_the_gil_is_held(self):
        for options in ({}, {"nogil": True}):
            self.assertEqual(compiled(functions.is_attached, 0, **options)(), 1)
        is_attached = functions.is_attached

        @numba.njit
        def inner():
            return is_attached()

        # inner() must be called with the GIL, because it was compiled without `nogil`.
        @numba.njit(nogil=True)
        def outer():
            count = 0
            for _ in range(100):
                count += inner()
            return count

        self.assertEqual(outer(), 100)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual([each.result() for each in [pool.submit(outer) for _ in range(16)]],
                             [100] * 16)

    def test_through_several_frames_and_in_loops(self):
        for function, good, result, bad, kind, text in RAISING:
            @numba.njit
            def inner(x):
                return function(x) + 1

            @numba.njit
            def total(values):
                sum_ = 0
                for value in values:
                    sum_ += inner(value)
                return sum_

            self.assertEqual(total(numpy.array([good] * 10000)), 10000 * (result + 1))
            with self.assertRaisesRegex(kind, text):
                total(numpy.array([good] * 100 + [bad]))
            self.assertEqual(total(numpy.array([good])), result + 1)

    def test_what_is_behind_it_is_not_run(self):
        checked, calls = functions.checked_i, functions.calls

        @numba.njit
        def twice(x, y):
            return checked(x) + checked(y)

        twice(1, 2)
        before = calls()
        with self.assertRaises(ValueError):
            twice(13, 2)
        self.assertEqual(calls(), before + 1)

    def test_try_and_except(self):
        for function, good, result, bad, kind, _ in RAISING:
            @numba.njit
            def guarded(x):
                try:
                    return function(x)
                except Exception:
                    return -77

            @numba.njit
            def inner(x):
                return function(x)

            @numba.njit
            def further_out(x):
                try:
                    return inner(x)
                except Exception:
                    return -77

            for each in (guarded, further_out):
                self.assertEqual([each(x) for x in (good, bad, good)], [result, -77, result])
            with self.assertRaises(kind) as caught:
                inner(bad)
            self.assertIsNone(caught.exception.__context__)
            self.assertIsNone(caught.exception.__cause__)

        status = functions.status

        @numba.njit
        def guarded_status(x):
            result = 0
            for i in range(3):
                try:
                    result += status(x)
                except Exception:
                    result += 1000
            return result

        self.assertEqual([guarded_status(x) for x in (4, 13, 14)], [-12, 3000, 3000])

    def test_except_does_not_swallow_what_ends_programs(self):
        raised = []

        def mine(x):
            raise raised[0]

        (entry,) = typedcall.entries(fallbacks.c_root)
        typedcall.tag(mine, entry.signature, entry.address, flags=entry.flags)
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        # SIGINT is ignored if the tests run as a shell's background job.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        for function in (functions.raises, mine):
            @numba.njit
            def guarded(x):
                try:
                    return function(x)
                except Exception:
                    return -77.0

            def raising(exception):
                functions.keep(exception)
                raised[:] = [exception]

            raising(KeyError())
            self.assertEqual(guarded(-1.0), -77.0)
            raising(KeyboardInterrupt())
            with self.assertRaises(KeyboardInterrupt):
                guarded(-1.0)
                for _ in range(1000):  # the interrupt arrives here
                    pass
            raising(SystemExit())
            seen = []
            sys.unraisablehook = lambda unraisable: seen.append(unraisable.exc_type)
            self.assertEqual(guarded(-1.0), -77.0)
            self.assertEqual(seen, [SystemExit])

    def test_without_the_gil_in_threads(self):
        for function, good, result, bad, kind, text in RAISING:
            @numba.njit(nogil=True)
            def total(values):
                sum_ = 0
                for value in values:
                    sum_ += function(value)
                return sum_

            values = numpy.full(3000, good)
            self.check_in_threads(total, values, numpy.append(values, bad), 3000 * result, kind, text)

    def test_prange(self):
        prange = numba.prange
        for function, values in ((functions.checked_d, numpy.arange(100, 5100, dtype="d")),
                                 (fallbacks.tenfold, numpy.where(numpy.arange(20000) % 50 == 0, -1.0, 4.0))):
            @numba.njit(parallel=True)
            def fill(values, out):
                for i in prange(len(values)):
                    out[i] = function(values[i])

            out = numpy.zeros(len(values))
            fill(values, out)
            self.assertEqual(out.tolist(), [function(x) for x in values.tolist()])

    @support.only_if(hasattr(LIBC, "thrd_create"))
    def test_a_thread_that_python_does_not_know(self):
        raises = functions.raises
        functions.keep(KeyError("lost"))
        seen = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda unraisable: seen.append(unraisable.exc_type)
        thread = ctypes.c_void_p()
        once = numba.cfunc("int32(voidptr)")(lambda _: int(raises(-1.0)))
        self.assertEqual(
            LIBC.thrd_create(ctypes.byref(thread), ctypes.c_void_p(once.address), None), 0)
        LIBC.thrd_join(thread, None)
        self.assertIn(KeyError, seen)

    def test_a_thread_s_dictionary_that_a_program_has_changed(self):
        ctypes.pythonapi.PyThreadState_GetDict.restype = ctypes.py_object
        known = ctypes.pythonapi.PyThreadState_GetDict()
        for value in 5, ValueError, object(), None:
            known["typedcall.raised"] = value
            with self.subTest(value=value), self.assertRaisesRegex(RuntimeError, "an exception was lost"):
                _native.raise_again()
            self.assertNotIn("typedcall.raised", known)
        known["typedcall.raised"] = ValueError("kept")
        with self.assertRaisesRegex(ValueError, "kept"):
            _native.raise_again()

    def test_exceptions_do_not_leak(self):
        call, status = compiled(functions.checked_i), compiled(functions.status)
        narrow = compiled(functions.same_b)
        leaks.check(lambda: (outcome(call, 13), outcome(status, 14), outcome(narrow, 128)), 2000, warm_up=100, blocks=500)
