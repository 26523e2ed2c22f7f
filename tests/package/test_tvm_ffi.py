"""Tests typed functions as tvm-ffi functions."""

import ctypes
import gc
import unittest
import weakref

import adapter_support
import support
import typedcall
from support import leaks
from tvm_ffi_support import (
    RAW_BYTES, RAW_TEXT, ByteArray, buffers, call_in_threads, call_raw, caller, fallbacks, functions, raw_result,
    tvm_ffi,
)
from typedcall.tvm_ffi import function


class Values(unittest.TestCase):
    def refuses(self, kind, message, f, *arguments):
        with self.assertRaisesRegex(kind, message) as caught:
            f(*arguments)
        self.assertIs(type(caught.exception), kind)

    def test_more_arguments_than_a_signature_has(self):
        def f(*given):
            return len(given)

        half, = typedcall.entries(functions.half)
        typedcall.tag(f, ["d->d", "dd->d"], [half.address] * 2, flags=[half.flags] * 2)
        self.assertIsInstance(function(f), tvm_ffi.Function)
        for count in (127, 128, 200, 1000):
            self.assertEqual(function(f)(*[1.5] * count), count)

    def test_entries_that_are_not_called_are_chosen_among(self):
        def pick(x):
            return -1.0 if isinstance(x, int) else x / 2

        half, = typedcall.entries(functions.half)
        typedcall.tag(pick, ["l->O", half.signature], [half.address] * 2,
                      flags=[typedcall.Flags.NEEDS_THREAD, half.flags])
        self.assertEqual([function(pick)(3), function(pick)(3.0)], [-1.0, 1.5])

    def test_integers_that_tvm_ffi_has_not(self):
        size = function(functions.next_size)
        self.refuses(RuntimeError, "too large for an int of tvm-ffi", size, 2**63 - 1)
        # tvm-ffi passes larger ints as objects, and the Python function is called.
        self.assertEqual(size(2**63), functions.next_size(2**63))
        self.refuses(RuntimeError, "int", function(functions.inc), 2**63)
        self.assertEqual(function(functions.half)(2**70), 2.0**69)

    def test_a_text_that_is_no_utf8(self):
        same, length = function(functions.same_text), function(buffers.utf8_length)
        for data, result in ((b"caf\xc3\xa9", True), (b"caf\xe9", None), (b"\xed\xa0\x80", None)):
            # For invalid UTF-8 the Python function is called.
            self.assertEqual(call_raw(length, RAW_TEXT, data) is not None, result is not None)
            self.assertEqual(call_raw(same, RAW_TEXT, data) is not None, result is not None)
        self.assertIsNone(function(caller.no_text)())
        self.refuses(ValueError, "the result is not UTF-8", function(caller.no_utf8))

    def test_bytes_by_their_address(self):
        hash_of, fits = function(buffers.hash), set()
        for data in (b"", b"a", b"any \xff\0", b"7 bytes", b"a\0b"):
            with self.subTest(data):
                result = raw_result(hash_of, RAW_BYTES, ctypes.pointer(ByteArray(data, len(data))))
                expected = buffers.hash(data)
                fits.add(expected < 2**63)
                if expected < 2**63:
                    self.assertEqual((result.type, result.pointer), (1, expected))  # an int
                else:
                    self.assertIsNone(result)  # too large for tvm-ffi
        self.assertEqual(fits, {True, False})

    def test_bytes_and_tensors(self):
        hash_of, norm = map(function, (buffers.hash, buffers.norm))
        for data in (b"", b"a", b"7 bytes", b"a\0b", b"more than eight bytes", bytearray(b"array" * 9)):
            expected = buffers.hash(data)
            if expected < 2**63:
                self.assertEqual(hash_of(data), expected)
            else:
                self.refuses(RuntimeError, "too large for an int of tvm-ffi", hash_of, data)
        numpy = adapter_support.library("numpy")
        x = numpy.linspace(0.0, 3.0, 100)
        self.assertEqual(norm(tvm_ffi.from_dlpack(x)), buffers.norm(x))

    def test_python_s_function_gets_the_memory_of_tensors(self):
        numpy = adapter_support.library("numpy")
        given = []

        def mean(x):
            given.append(x)
            return 0.0

        entry, = typedcall.entries(buffers.mean_or_fall_back)
        typedcall.tag(mean, entry.signature, entry.address, flags=entry.flags)
        made = function(mean)
        x = numpy.arange(3)
        self.assertEqual(made(x), 0.0)
        x[0] = 7
        self.assertEqual(list(given[0]), [7, 1, 2])
        self.assertEqual(memoryview(given[0]).format, "<q")
        # The array lives as long as the memoryview.
        owner = numpy.ones(1000, "f4")
        gone = weakref.ref(owner)
        made(owner)
        del owner
        gc.collect()
        self.assertEqual((list(given[1]), gone() is None), ([1.0] * 1000, False))
        del given[1]
        gc.collect()
        self.assertIsNone(gone())
        # Other tensors are passed as tensors.
        for other in (x[::2], x.reshape(3, 1), x.astype("f2"), x.astype("c16")):
            made(other)
            self.assertIsInstance(given[-1], tvm_ffi.Tensor)

    def test_what_is_no_function_of_it(self):
        for f, message in ((functions.turn, "'Zd->Zd' has an argument 'Zd', for which tvm-ffi"),
                           (functions.same_object, "has nothing for tvm-ffi"),
                           (functions.sum_of, "has an argument '&kd'"),
                           (functions.same_pointer, "has an argument 'P'"),
                           (len, "it offers no typed function")):
            with self.assertRaisesRegex(TypeError, message):
                function(f)


class Threads(unittest.TestCase):
    def test_callers_that_are_no_python_threads(self):
        for f in (functions.half, functions.slow, fallbacks.root, functions.absolute):
            self.assertEqual(call_in_threads(function(f), 4.0, 1000, 4), 0)
        self.assertEqual(call_in_threads(function(fallbacks.root), -4.0, 100, 4), 400)
        self.assertEqual(call_in_threads(function(functions.inc), 1.5, 100, 2), 200)
        # Without THREAD_SAFE, the function is called with the GIL.
        self.assertEqual(call_in_threads(function(fallbacks.half_alone), 4.0, 100, 4), 0)
        self.assertEqual(call_in_threads(function(fallbacks.half_alone), -4.0, 100, 4), 400)

    def test_the_gil_is_let_go_where_that_is_of_use(self):
        self.assertFalse(function(functions.half).release_gil)  # half is declared SHORT
        self.assertTrue(function(fallbacks.root).release_gil)
        self.assertFalse(function(functions.check).release_gil)


class Lifetimes(unittest.TestCase):
    def test_it_keeps_the_function_and_lets_go_of_it(self):
        def f(x):
            return x

        reference = weakref.ref(f)
        entry = typedcall.entries(functions.half)[0]
        typedcall.tag(f, "d->d", entry.address, flags=entry.flags)
        made = function(f)
        del f
        gc.collect()
        self.assertEqual([made(3.0), made("x")], [1.5, "x"])
        tvm_ffi.register_global_func("typedcall.test", made, override=True)
        del made
        gc.collect()
        again = tvm_ffi.get_global_func("typedcall.test")
        self.assertEqual([again(3.0), again("x")], [1.5, "x"])
        tvm_ffi.remove_global_func("typedcall.test")
        self.assertIsNotNone(reference())
        del again
        gc.collect()
        self.assertIsNone(reference())

    @support.timing
    @support.WHERE_FREED_MEMORY_GOES
    def test_a_million_calls_leak_nothing(self):
        same, norm = function(functions.same_text), function(buffers.utf8_length)
        root, inc = function(fallbacks.root), function(functions.inc)

        def run(times):
            for i in range(times):
                same("a text that is an object")
                norm("short")
                inc(i)
                root(4.0)
                if i % 100 == 0:
                    for bad in ("x", None):
                        try:
                            inc(bad)
                        except TypeError:
                            pass
                    function(functions.half)

        leaks.check(run, 250_000, warm_up=20000, takes_count=True, blocks=1000, kilobytes=10000)

    def test_another_abi_is_refused(self):
        self.assertEqual(support.printed("-c", OTHER), "")
OTHER = """
import tvm_ffi, typedcall.tvm_ffi
class Other:
    def TVMFFIGetVersion(self, version):
        version[:] = [0, 2, 0]
tvm_ffi.LIB = Other()
try:
    typedcall.tvm_ffi.typed_function("testing.echo", "d->d")
except ImportError as error:
    assert str(error) == "typedcall knows the C ABI of tvm-ffi 0.1, not of 0.2.0", error
else:
    raise SystemExit("taken")
"""
