"""Tests typed functions that an argument, or the function itself, frees during the call. Each case runs in a separate
process, in which freed memory is overwritten. functools.partial calls its function without a reference of its own."""
import sys

import support
from test_lifetimes import Process

support.module_only_if(not support.IS_PYPY, "for CPython: on PyPy the caller holds the function")

PARTIAL = """
import functools
import sys
sys.path[:0] = %r
import buffer_provider as buffers
import fallback_functions as fallback
import typed_functions as typed
from typedcall.native import _native

def held_by_a_partial(*arguments):
    global partial
    partial = functools.partial(*arguments)
    return partial
def free():
    partial.__setstate__((print, (), {}, {}))
    gc.collect()
    junk = [b"\\x55" * n for n in range(32, 512, 8) for _ in range(20)]
    assert junk
class Frees:
    def __init__(self, value):
        self.value = value
    def __float__(self):
        free()
        return float(self.value)
    def __index__(self):
        free()
        return int(self.value)
def call(function, signature, *arguments, **options):
    return held_by_a_partial(typedcall.resolve(function, signature, **options))(*arguments)
"""


class Freed(Process):
    def is_right(self, expression, expected, before=""):
        folders = [support.module_folder(each) for each in ("buffer_provider", "fallback_functions", "typed_functions")]
        self.runs(PARTIAL % folders + before + "print(%s)\n" % expression, str(expected))

    def test_by_an_argument(self):
        self.is_right('call(typed.half, "d->d", Frees(3))', 1.5)

    def test_by_an_argument_of_several(self):
        self.is_right('call(typed.mix, "dldl->d", 1.0, Frees(3), 2.0, Frees(2))', 7.0)

    def test_by_an_argument_that_is_cast(self):
        self.is_right('call(typed.half, "f->d", Frees(3), casting="safe")', 1.5)

    def test_by_an_argument_that_is_refused(self):
        self.is_right("refused", "TypeError", """
class Refused(Frees):
    def __float__(self):
        free()
        return "no"
try:
    call(typed.half, "d->d", Refused(3))
except TypeError as error:
    refused = type(error).__name__
""")

    def test_by_a_keyword_argument(self):
        self.is_right('held_by_a_partial(typedcall.resolve(named, "dd->d"))(y=1, x=Frees(3))', 4.0, """
def named(x, y=2.0): return x + y
typedcall.tag(named, "dd->d", ctypes.CFUNCTYPE(double, double, double)(lambda x, y: x + y))
""")

    def test_by_an_argument_of_a_function_that_falls_back(self):
        self.is_right('call(fallback.root, "d->d", Frees(4))', 2.0)

    def test_by_an_argument_with_which_it_falls_back(self):
        self.is_right("call(f, 'd->d', Frees(-4))", "fallen", """
def f(x): return "fallen"
entry, = typedcall.entries(fallback.root)
typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
""")

    def test_by_the_callable_to_which_it_falls_back(self):
        self.is_right("call(f, 'd->d', -4.0)", "fallen", """
class F:
    def __call__(self, x):
        free()
        return self.text
f = F()
f.text = "fallen"
entry, = typedcall.entries(fallback.root)
typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
f.__class__  # the TypedFunction has the only other reference
""")

    def test_by_the_native_function(self):
        self.is_right('make()(1.0)', 2.0, """
def make():
    def function(x):
        free()
        return x + 1
    def f(x): return x
    typedcall.tag(f, "d->d", Callback(function))
    return held_by_a_partial(typedcall.resolve(f, "d->d"))
""")

    @support.only_if(sys.version_info >= (3, 12))
    def test_by_a_buffer(self):
        self.is_right("call(buffers.mean, '*kd->d', Frees(4))", "1.5", """
import array
class Frees:
    def __init__(self, value): pass
    def __buffer__(self, flags):
        free()
        return memoryview(array.array("d", [1, 2]))
""")

    def test_by_the_collector_while_self_is_refused(self):
        """Before 3.12, raising an exception while another one is handled may run the collector."""
        self.is_right("called()", "TypeError", """
import collections
entry, = typedcall.entries(fallback.root)
method = collections.deque.rotate
typedcall.tag(method, entry.signature, entry.address, flags=entry.flags | typedcall.Flags.THREAD_SAFE)
class Cycle:
    def __init__(self): self.me = self
    def __del__(self): free()
call_later = held_by_a_partial(typedcall.resolve(method, "d->d"))
def called():
    gc.set_threshold(0)
    Cycle()
    kept = [[] for _ in range(50)]
    try:
        1 / 0
    except ZeroDivisionError:
        gc.set_threshold(1)
        try:
            return call_later("no deque", -4.0)
        except TypeError as error:
            return type(error).__name__
        finally:
            gc.set_threshold(0)
""")

    def test_by_an_error_handler(self):
        self.is_right("called", 4, """
import codecs, ctypes
def replaced(error):
    free()
    return "??", error.end
strict = codecs.lookup_error("strict")
codecs.register_error("strict", replaced)
def length(text):
    raise NotImplementedError
address = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
typedcall.tag(length, "s->N", address, flags=typedcall.Flags.THREAD_SAFE)
called = call(length, "s->N", "ab\\udc80")
codecs.register_error("strict", strict)
""")

    def test_while_it_is_timed(self):
        self.is_right("timed > 0", True, """
f = typedcall.resolve(typed.half, "d->d")
timed = held_by_a_partial(_native.time_unboxed, f, (Frees(3),), 3)
del f
timed = timed()
""")


if __name__ == "__main__":
    import unittest

    unittest.main()
