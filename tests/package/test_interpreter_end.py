"""Tests daemon threads that run Python code inside the package when the interpreter ends. CPython before 3.14 unwinds
their stacks through C++ frames. This must not end the process."""
import importlib.util
import sys
import sysconfig
import unittest

import support

support.module_only_if(not support.IS_PYPY, "for CPython, which unwinds threads")

BEFORE = """
import ctypes, os, sys, threading, time
import typedcall
from typedcall.native import _native

inside = {}

def wait(*args, pipe=os.pipe, read=os.read, inside=inside, this=threading.get_native_id):
    end, begin_end = pipe()
    inside[this()] = begin_end
    read(end, 1)  # releases the GIL, until the interpreter ends
    return 1.0

class Waiting:
    def __call__(self): pass
    def __float__(self): return wait()
    def __index__(self): return int(wait())
    def __iter__(self): return self
    def __next__(self): wait(); raise StopIteration
    def __getattr__(self, name):
        if name != "__qualname__": raise AttributeError(name)
        wait()
        return name

class Late:
    def __del__(self, inside=inside, sleep=time.sleep, write=os.write, open=os.open,
                read=os.read, close=os.close, error=OSError):
        # The others now ask for the GIL. Each has done so once it has slept, or been gone, for some milliseconds
        # (tests/support/asleep.h). Waits a minute at most; a failure must be visible.
        for begin_end in inside.values():
            write(begin_end, b"x")
        for thread in inside:
            asleep = tries = 0
            while asleep < 10:
                try:
                    stat = open("/proc/self/task/%d/stat" % thread, 0)
                    state = read(stat, 300).rpartition(b") ")[2][:1]
                    close(stat)
                except error:
                    break
                asleep = asleep + 1 if state == b"S" else 0
                tries += 1
                if tries == 60000:
                    write(2, b"a thread runs on in the state " + state)
                    break
                sleep(0.001)

class Dying:
    def __del__(self): wait()

callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(wait)
attached = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double)(wait)
of_two = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(wait)
of_object = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.py_object)(wait)
thousand = [0.5] * 1000
"""
AFTER = """
sys.late = Late()  # a script's variables live as long as its threads
threads = [threading.Thread(target=body, daemon=True) for _ in range(3)]
for thread in threads: thread.start()
last = time.monotonic() + 60
while len(inside) < len(threads) and any(
        thread.is_alive() and thread.native_id not in inside for thread in threads):
    assert time.monotonic() < last, "no Python code was run"
    time.sleep(0.001)
assert inside, "no Python code was run"
"""

#: The code that a thread runs, keyed by name.
SCENARIOS = {
    "entries": "[typedcall.entries(callback) for callback in iter(lambda: (wait(), callback)[1], 0)]",
    "refusal": "typedcall.resolve(Waiting(), 'd->d')",
    "refusal by _native": "_native.refuse(Waiting(), 'd->d', 0, 'exact')",
    "make_function": "_native.make_function(Waiting(), 'd->d', 0, 1, 'place', None, 'd->d', 'exact')",
    "representation": "repr(_native.make_function(lambda x: x, 'd->d', 0, 1, 'place', "
                      "Waiting(), 'd->d', 'exact')); wait()",
    "tag": "_native.tag(len, Waiting(), None)",
    "select": "_native.select(Waiting(), 'd->d', 0, 'exact')",
    "untag": "typedcall.tag(wait, 'd->d', attached); typedcall.untag(wait); wait()",
    "a call": "typedcall.resolve(callback, 'd->d')(1.0)",
    "a call with the GIL": "typedcall.resolve(attached, 'd->d')(1.0)",
    "a call with an object": "typedcall.resolve(of_object, 'O->d')(Dying())",
    "a cast call": "typedcall.resolve(callback, 'f->d', casting='safe')(1.0)",
    "an argument": "typedcall.resolve(callback, 'd->d')(Waiting())",
    "time_boxed": "_native.time_boxed(wait, (), 10)",
    "time_unboxed": "_native.time_unboxed(_native.make_function(wait, 'd->d', "
                    "int(typedcall.Flags.NEEDS_THREAD), ctypes.cast(attached, ctypes.c_void_p)"
                    ".value, 'place', None, 'd->d', 'exact'), (1.0,), 10)",
    "what is kept": "f = _native.make_function(len, 'd->d', 0, 1, 'place', Dying(), 'd->d', 'exact');"
                    "del f",
    "what a tag keeps": "f = lambda: 0; _native.tag(f, (('d->d', 0, 1),), Dying()); del f",
}
WITH_NUMPY = {
    "a ufunc": "typedcall.ufunc(callback)(thousand)",
    "a ufunc with the GIL": "typedcall.ufunc(attached)(thousand)",
    "a ufunc of two": "typedcall.ufunc(of_two)(thousand, 1.0)",
    "a reduction": "typedcall.ufunc(of_two).reduce(thousand)",
}
WITH_SCIPY = {
    "a LowLevelCallable": "integrate.quad(typedcall.low_level_callable(callback), 0, 1)",
    "a LowLevelCallable of two": "integrate.nquad(typedcall.low_level_callable(of_two), "
                                 "[(0, 1), (0, 1)])",
}


# On free-threaded CPython 3.13, a daemon thread may end while it holds a lock, and the main thread then hangs. This is
# not caused by the package.
ATTEMPTS, SECONDS = (4, 40) if sysconfig.get_config_var("Py_GIL_DISABLED") else (1, 300)


def run(code):
    for attempt in range(ATTEMPTS):
        try:
            return support.python("-c", code, together=True, timeout=SECONDS)
        except support.processes.Hung:
            if attempt + 1 == ATTEMPTS:
                raise
            print("hung, and is run again", file=sys.stderr)


class InterpreterEnd(unittest.TestCase):
    def ends(self, scenarios, imports=""):
        for name, does in scenarios.items():
            with self.subTest(name):
                code = "%s\n%s\ndef body():\n    %s\n%s" % (BEFORE, imports, does, AFTER)
                ended = run(code)
                self.assertEqual(ended.status, 0, ended.out)
                self.assertNotIn("terminate called", ended.out)
                self.assertNotIn("runs on", ended.out)

    def test_the_package(self):
        self.ends(SCENARIOS)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is not installed")
    def test_numpy(self):
        self.ends(WITH_NUMPY, "import numpy")

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "SciPy is not installed")
    def test_scipy(self):
        self.ends(WITH_SCIPY, "from scipy import integrate")
