"""Tests long loops of accelerated calls on PyPy: they leak no memory, and can be interrupted."""
import gc
import itertools
import os
import signal
import time
import unittest

import support
import typedcall
from accelerated import ON_PYPY, Accelerated, outcome

TEXTS = ["", "h\u00e4", "\u20ac" * 1000, "\U0001f40d", "a\0b", "\ud800", "x\udcff", None, b"bytes", 1, 1.5]


class Loops(Accelerated):
    """Loops that call accelerated functions."""

    def setUp(self):
        super().setUp()
        self.fallbacks = support.build("fallback_functions")
        self.buffers = support.build("buffer_provider")
        for module in (self.fallbacks, self.buffers):
            typedcall.restore(module)
            self.addCleanup(typedcall.restore, module)
        self.originals = {module: dict(vars(module)) for module in (self.fallbacks, self.buffers)}
        self.assertIn("root", typedcall.accelerate(self.fallbacks).accelerated)
        self.done_buffers = typedcall.accelerate(self.buffers, trust="thread_safe")
        self.assertIn("hash", self.done_buffers.accelerated)

    # Each method makes `count` calls.

    def native(self, count):
        inc, power = self.functions.inc, self.functions.power
        total = 0
        for _ in range(count // 4):
            total = inc(total)
            power(2.0, 3.0)
            power(y=3.0, x=2.0)
            power(4.0)
        self.assertEqual(total, count // 4)

    def of_bytes_and_texts(self, count):
        hash_of, length = self.buffers.hash, self.buffers.utf8_length
        data, text = b"some bytes" * 9, "h\u00e4" * 99
        for _ in range(count // 2):
            hash_of(data)
            length(text)
        self.assertEqual((hash_of(b""), length(text)), (self.originals[self.buffers]["hash"](b""), 297))

    def boxed_ones(self, count):
        inc, power, check = self.functions.inc, self.functions.power, self.functions.check
        for _ in range(count // 4):
            inc(True)
            power(2, 3)
            power(True)
            check(12)  # not replaced because it may raise

    def refused(self, count):
        inc, power = self.functions.inc, self.functions.power
        for _ in range(count // 4):
            for f, args in ((inc, (1.5,)), (inc, ()), (power, ("x",)), (power, (1.0, None))):
                try:
                    f(*args)
                except TypeError:
                    pass
                else:
                    self.fail("no error")

    def falling_back(self, count):
        root, tenfold, square = self.fallbacks.root, self.fallbacks.tenfold, self.fallbacks.square
        for _ in range(count // 4):
            root(4.0)
            tenfold(-2.0)
            square(1 << 32)
            try:
                root(-1.0)
            except ValueError:
                pass
            else:
                self.fail("no error")


# Measures memory growth in another process. In this process, calls could reuse memory that other tests have freed.
GROWTH = """
import sys
sys.path.insert(0, sys.argv[1])
from test_accelerate_loops import Loops
from support import leaks
class Growth(Loops):
    def runTest(self):
        run, count = getattr(self, sys.argv[2]), int(sys.argv[3])
        # The warm-up covers the compiler, and the collector's pools of four megabytes each. A leak of 16 bytes per call
        # would be sixteen megabytes.
        leaks.check(run, count, warm_up=count // 2, kilobytes=8000, takes_count=True)
Growth().debug()
"""


@support.timing
@support.only_if(support.IS_PYPY and os.path.exists("/proc/self/statm"))
class Memory(unittest.TestCase):
    def check(self, name, count=1_000_000):
        # The default size of the nursery depends on the processor's cache, and may be hundreds of megabytes.
        status, _, errors = support.python("-c", GROWTH, support.MODULES.parent, name, count,
                                           environment={"PYPY_GC_NURSERY": "4MB"})
        self.assertEqual(status, 0, errors)

    def test_a_million_native_calls_leave_nothing(self):
        self.check("native", 4_000_000)

    def test_a_million_calls_with_bytes_and_texts_leave_nothing(self):
        self.check("of_bytes_and_texts")

    def test_a_million_boxed_calls_leave_nothing(self):
        self.check("boxed_ones")

    def test_a_million_calls_that_are_refused_leave_nothing(self):
        self.check("refused")

    def test_a_million_calls_that_fall_back_leave_nothing(self):
        self.check("falling_back")


@support.timing
@ON_PYPY
class Interrupts(Loops):
    def setUp(self):
        super().setUp()
        # PyPy only prints an interrupt that arrives in a finalizer, so run the finalizers of ended processes now.
        gc.collect()
        # SIGINT is ignored if the tests run as a shell's background job.
        self.handle(signal.SIGINT, signal.default_int_handler)
        # Use a timer and not a thread, because PyPy only prints exceptions while it cleans up after a thread.
        self.handle(signal.SIGALRM, lambda number, frame: os.kill(os.getpid(), signal.SIGINT))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)

    def handle(self, number, handler):
        self.addCleanup(signal.signal, number, signal.getsignal(number))
        signal.signal(number, handler)

    def interrupt(self, run, after):
        """Interrupts run()."""
        last = time.monotonic() + 20
        with self.assertRaises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, after)
            while time.monotonic() < last:
                run(1000)

    def check(self, run):
        run(20_000)
        for i in range(20):
            self.interrupt(run, 0.01 + 0.002 * i)
        self.check_results()
        run(20_000)  # run() also checks results

    def check_results(self):
        counts = self.boxed_counting["counts"]
        for module, boxed, names in (
                (self.functions, self.boxed, ("inc", "half", "power", "check", "absolute", "negate")),
                (self.fallbacks, self.originals[self.fallbacks], ("root", "tenfold", "square", "both")),
                (self.buffers, self.originals[self.buffers], ("hash", "utf8_length"))):
            for name in names:
                for value in (4, 4.0, -1, -1.0, 1 << 32, 1 << 70, True, None, "x", b"bytes"):
                    for args in ((value,), (value, 2), (value, 2.0), ()):
                        self.assertEqual(outcome(getattr(module, name), args), outcome(boxed[name], args),
                                         (name, args))
        native = counts()[0]
        self.assertEqual(self.counting.inc(41), 42)
        self.assertEqual(counts()[0], native + 1)

    def test_native_calls(self):
        self.check(self.native)

    def test_calls_with_bytes_and_texts(self):
        self.check(self.of_bytes_and_texts)

    def test_boxed_calls(self):
        self.check(self.boxed_ones)

    def test_calls_that_are_refused(self):
        self.check(self.refused)

    def test_calls_that_fall_back(self):
        self.check(self.falling_back)


@ON_PYPY
class Texts(Loops):
    def test_which_stay_boxed(self):
        # Functions with a `const char *` are not accelerated. Functions that take a pointer and a length are.
        for done in (self.done, typedcall.accelerate(self.functions, trust="thread_safe")):
            self.assertIn("const char *", done.refused["same_text"])
            self.assertIs(self.functions.same_text, self.boxed["same_text"])
            typedcall.restore(self.functions)
        self.assertIn("utf8_length", self.done_buffers.accelerated)

    def test_they_give_what_the_original_gives(self):
        same, length = self.functions.same_text, self.buffers.utf8_length
        found = [[outcome(same, (text,)), outcome(length, (text,))] for text in TEXTS]
        typedcall.restore(self.functions)
        typedcall.restore(self.buffers)
        for text, given in zip(TEXTS, found):
            self.assertEqual(given, [outcome(self.functions.same_text, (text,)),
                                     outcome(self.buffers.utf8_length, (text,))], repr(text))
        self.assertEqual(found[1], [(str, repr("h\u00e4")), (int, "3")])
        self.assertEqual(found[4], [(ValueError, "embedded null character"), (int, "3")])
        self.assertEqual([each[0] for each in found[5]], [UnicodeEncodeError] * 2)
        self.assertEqual([each[0] for each in found[7]], [TypeError] * 2)

    def test_in_a_loop_between_native_calls(self):
        same, inc, total = self.functions.same_text, self.functions.inc, 0
        for text in itertools.islice(itertools.cycle(["", "h\u00e4", "\U0001f40d" * 9]), 30_000):
            self.assertEqual(same(text), text)
            total = inc(total)
        self.assertEqual(total, 30_000)
