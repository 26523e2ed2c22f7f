"""Tests tvm-ffi functions as typed functions."""

import ctypes
import os
import signal
import threading
import unittest

import adapter_support
import support
import tvm_ffi_support
import typedcall
from support import leaks
from tvm_ffi_support import caller, fallbacks, functions, tvm_ffi
from typedcall import Flags
from typedcall.tvm_ffi import function, typed_function

FREE = Flags.PURE | Flags.THREAD_SAFE
echo = tvm_ffi.convert(lambda *arguments: arguments[-1])


def typed(f, signature, **options):
    return typedcall.resolve(typed_function(f, signature, **options), signature)


class Calls(unittest.TestCase):
    def test_bools_and_nothing(self):
        made = typed_function(echo, "?->?")
        self.assertEqual(typedcall.signatures(made), ["?&?->i"])
        self.assertIs(typedcall.resolve(made, "?&?->i")(True), True)
        seen = []
        made = typed_function(tvm_ffi.convert(seen.append), "d->v")
        self.assertIsNone(typedcall.resolve(made, "d->i")(2.5))
        self.assertEqual(seen, [2.5])

    def test_texts_and_bytes(self):
        length = tvm_ffi.convert(lambda text: len(text))
        for text in ("", "seven77", "eight888", "h\u00e4" * 50):
            for signature in ("s->q", "*s->q"):
                self.assertEqual(typed(length, signature)(text), len(text))
        self.assertEqual(typed(length, "*s->q")("a\0b"), 3)
        for data in (b"", b"a\0b", b"\xff" * 100):
            self.assertEqual(typed(length, "*kB->q")(data), len(data))

    def test_with_c_and_with_another_typed_function(self):
        self.assertEqual(typed("testing.add_one", "q->q")(41), 42)
        both = function(typed_function("testing.add_one", "q->q", flags=FREE))
        self.assertEqual([both(1), both(True)], [2, 2])
        self.assertEqual(typed(function(functions.half), "d->d")(3.0), 1.5)
        self.assertEqual(typedcall.ctypes_function(typed_function("testing.add_one", "q->q"))(1), 2)

    def test_python_calls_what_it_was(self):
        made = typed_function(echo, "d->d")
        self.assertEqual([made("text"), made(2)], ["text", 2])
        self.assertEqual(typed_function("testing.echo", "d->d").__name__, "testing.echo")

    def test_numpy(self):
        numpy = adapter_support.library("numpy")
        x = numpy.arange(5000.0)
        for made in (typed_function(echo, "d->d"), typed_function(function(functions.half), "d->d", flags=FREE)):
            self.assertEqual(typedcall.ufunc(made)(x).tolist(), [made(each) for each in x.tolist()])
        root = typed_function(function(fallbacks.root), "d->d", flags=FREE)
        with self.assertRaisesRegex(ValueError, "no result"):
            typedcall.ufunc(root)(numpy.array([1.0, -1.0]))

    def test_numba(self):
        numba = adapter_support.library("numba")
        made = typed_function("testing.add_one", "q->q", flags=FREE)

        @numba.njit
        def total(count):
            found = 0
            for i in range(count):
                found += made(i)
            return found

        self.assertEqual(total(1000), sum(range(1, 1001)))


class Errors(unittest.TestCase):
    def test_errors_are_exceptions(self):
        def f(x):
            if x == 0:
                raise ValueError("zero")
            if x < 0:
                raise ZeroDivisionError("below")
            return "text" if x > 100 else x

        for flags in (0, FREE):
            made = typed_function(tvm_ffi.convert(f), "d->d", flags=flags)
            called = [typedcall.resolve(made, each) for each in typedcall.signatures(made)]
            self.assertEqual(len(called), 2 if flags else 1)
            for each in called:
                self.assertEqual([each(-1.0 + 3), each(1.0)], [2.0, 1.0])
                with self.assertRaisesRegex(ValueError, "^zero"):
                    each(0.0)
                with self.assertRaisesRegex(RuntimeError, "^below"):
                    each(-2.0)
                if each.flags & Flags.FALLS_BACK:
                    self.assertEqual(each(101.0), "text")
                    continue
                with self.assertRaisesRegex(TypeError, "another type"):
                    each(101.0)
        # The error value can also be a result.
        for signature in ("d->d", "q->q"):
            self.assertEqual(typed(echo, signature)(-1), -1)

    def test_a_result_that_does_not_fit(self):
        for signature, value in (("q->b", 128), ("q->B", -1), ("q->I", 2**32)):
            with self.assertRaisesRegex(TypeError, "another type"):
                typed(echo, signature)(value)
        with self.assertRaisesRegex(TypeError, "tvm-ffi has no value for"):
            typed(echo, "L->L")(2**63)

    def test_the_exception_of_a_typed_function_within(self):
        with self.assertRaisesRegex(ValueError, "thirteen"):
            typed(function(functions.check), "l->l")(13)
        with self.assertRaisesRegex(RuntimeError, "division"):
            typed(function(functions.div), "dd->d")(1.0, 0.0)

    def test_wrong_signatures(self):
        for signature, message in (("O->d", "cannot take an argument 'O'"), ("*d->d", r"cannot take an argument '\*d'"),
                                   ("Zd->d", "'Zd'"), ("d->s", "would be gone"), ("d->P", "would be gone"),
                                   ("d->", "position"), ("x->d", "position")):
            with self.assertRaisesRegex(ValueError, message):
                typed_function(echo, signature)
        with self.assertRaisesRegex(TypeError, "or the name of one is needed, not <built-in function len>"):
            typed_function(len, "d->d")
        with self.assertRaisesRegex(ValueError, "typedcall.nothing"):
            typed_function("typedcall.nothing", "d->d")
        with self.assertRaisesRegex(ValueError, "flags are PURE"):
            typed_function(echo, "d->d", flags=Flags.MAY_RAISE)
        # tvm-ffi raises an error for a wrong number of arguments.
        with self.assertRaisesRegex(TypeError, "(?i)argument"):
            typed("testing.add_one", "qq->q")(1, 2)


class Interrupts(unittest.TestCase):
    def setUp(self):
        # SIGINT is ignored if the tests run as a shell's background job.
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(self, loop):
        """Runs `loop`, sends SIGINT when the count reaches 1000, and returns the last count."""
        count = [0]
        found = threading.Event()

        def send():
            while count[0] < 1000:
                if found.wait(0.001):
                    return
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                loop(count)
                support.wait_for_interrupt()
        finally:
            found.set()
            thread.join()
        return count[0]

    def test_in_loops_of_c(self):
        numpy = adapter_support.library("numpy")
        x = numpy.arange(1000)
        for made in (typed_function("testing.add_one", "q->q"), typed_function(echo, "q->q")):
            add = typedcall.ufunc(made)
            expected = add(x).tolist()

            def loop(count, add=add):
                while count[0] < 10**8:
                    try:
                        add(x)
                    except RuntimeError:  # tvm-ffi raises this for every Python exception
                        raise KeyboardInterrupt from None
                    count[0] += 1000

            self.assertGreaterEqual(self.interrupt(loop), 1000)
            self.assertEqual(add(x).tolist(), expected)

    def test_in_a_function_that_looks_for_signals(self):
        """The function leaves an exception set, which must be raised before another call."""
        names = ("TVMFFIErrorCreate", "TVMFFIErrorSetRaised", "TVMFFIObjectDecRef")
        create = tvm_ffi.get_global_func("ffi.FunctionFromExternC")
        for signature in ("d&d->i", "d->d"):
            parts = caller.signalled(*map(tvm_ffi_support.address, names))
            f = create(None, *map(ctypes.c_void_p, parts))
            called = typedcall.resolve(typed_function(f, "d->d", flags=FREE), signature)
            with self.assertRaises(KeyboardInterrupt):
                called(2.5)
                support.wait_for_interrupt()
            self.assertEqual(called(2.5), 2.5)  # no exception is pending

    def test_in_a_python_function_it_is_what_tvm_ffi_makes_of_it(self):
        def f(x):
            calls.append(x)
            if len(calls) == 5:
                signal.raise_signal(signal.SIGINT)
            return x

        def kind_of(call):
            calls.clear()
            try:
                for i in range(10):
                    call(float(i))
            except BaseException as error:
                return type(error)

        calls = []
        f = tvm_ffi.convert(f)
        expected = kind_of(f)
        self.assertIn(expected, (RuntimeError, KeyboardInterrupt))
        made = typed_function(f, "d->d", flags=FREE)
        self.assertIs(kind_of(made), expected)
        self.assertIs(kind_of(typed(f, "d->d")), expected)
        self.assertEqual(calls, [0.0, 1.0, 2.0, 3.0, 4.0])
        # If a call without the GIL fails, a PURE function is called again.
        free = typedcall.resolve(made, "d&d->i")
        self.assertTrue(free.flags & Flags.FALLS_BACK)
        self.assertIsNone(kind_of(free))
        self.assertEqual(calls, [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])


class Lifetimes(unittest.TestCase):
    @support.timing
    @support.WHERE_FREED_MEMORY_GOES
    def test_a_million_calls_leak_nothing(self):
        add, length = typed("testing.add_one", "q->q"), typed(echo, "*sq->q")
        free = typedcall.resolve(typed_function(function(caller.third), "d->d", flags=FREE), "d&d->i")
        raising = typed(tvm_ffi.convert(lambda x: 1 / x), "d->d")

        def run(times):
            for i in range(times):
                add(i)
                free(1.0)
                if i % 10 == 0:
                    length("a text that is an object", i)
                if i % 100 == 0:
                    try:
                        raising(0.0)
                    except RuntimeError:
                        pass
                    typed("testing.add_one", "q->q")

        leaks.check(run, 400_000, warm_up=20000, takes_count=True, blocks=1000, kilobytes=10000)
