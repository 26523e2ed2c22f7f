# The package's functions without memory: each allocation fails once, and from there on. In a process
# of its own, because CPython itself may not survive it; where it has _testcapi. Not ufunc(): NumPy
# crashes when it has no memory to make one. Python functions made on the way (generators, lambdas)
# are not to be seen here: CPython 3.12 and 3.13 let go of their code twice when that fails.
import subprocess
import sys
import textwrap
import unittest

import support

if support.IS_PYPY:
    raise unittest.SkipTest("for CPython, whose allocators can be told to refuse")
try:
    import _testcapi
except ImportError:
    _testcapi = None

SWEEP = """
import ctypes, ctypes.util, gc, pickle, sys, _testcapi
import typedcall
from typedcall import _native
refuse, again = _testcapi.set_nomemory, _testcapi.remove_mem_hooks
libm = ctypes.CDLL(ctypes.util.find_library("m"))
address = ctypes.cast(libm.erf, ctypes.c_void_p).value
rows = (("d->d", 0, address), ("f->f", 0, address))
class Callable:
    def __call__(self, x): return x

def sweep(call, undo=lambda result: None, errors=()):
    # Each ends with its result, with MemoryError, or with an error that it has anyway. Modules are
    # imported before: the interpreter's own import does not survive it everywhere.
    try:
        undo(call())
    except errors:
        pass
    for stop in (lambda first: first + 1, lambda first: 0):
        first = failed = 0
        while True:
            result = error = None
            refuse(first, stop(first))
            try:
                try:
                    result = call()
                finally:
                    again()
            except MemoryError:
                failed = first
            except SystemError as says:
                # CPython's own loop forgets, in places, to say that there was no memory.
                if str(says) != "error return without exception set":
                    raise
                failed = first
            except errors:
                break
            except BaseException as raised:
                error = type(raised), str(raised)
            # The last one is CPython's way to say it.
            assert error in (None, (RuntimeError, "can't allocate lock")), (call, first, error)
            done = first > failed + 30  # what needs no memory, or can do without
            if result is not None:
                undo(result)
            if done: break
            first += 1
            assert first < 3000, call
"""


@unittest.skipIf(_testcapi is None, "this interpreter has no _testcapi")
@unittest.skipIf(sys.implementation.name != "cpython", "CPython's allocators")
class WithoutMemory(unittest.TestCase):
    def run_sweep(self, code):
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c",
                               SWEEP + textwrap.dedent(code)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if done.returncode != 0:
            self.fail("exit code %d\n%s" % (done.returncode,
                                            done.stdout.decode(errors="replace")[-3000:]))

    def test_tags(self):
        self.run_sweep("""
        one = Callable()
        sweep(lambda: _native.tag(one, rows, None), lambda taken: _native.untag(one))
        kept = Callable()
        sweep(lambda: _native.tag(one, rows, kept), lambda taken: _native.untag(one))
        assert _native.tag(one, rows, kept) is True
        sweep(lambda: _native.tag(one, rows, Callable()))
        sweep(lambda: _native.tag(one, rows[:1], None), errors=ValueError)
        sweep(lambda: _native.tag(one, [("x", 0, address)], None), errors=ValueError)
        sweep(lambda: _native.entries(one))
        assert len(_native.entries(one)) == 2 and _native.untag(one) is True
        assert _native.entries(one) == []
        """)

    def test_finding(self):
        self.run_sweep("""
        one = Callable()
        _native.tag(one, rows, None)
        for casting in ("exact", "equivalent", "safe"):
            sweep(lambda: _native.find(one, "d->d", 0, casting))
            sweep(lambda: _native.find(one, "l->l", 0, casting))
            sweep(lambda: _native.select(rows, "d->d", 0, casting))
        for callable in (one, len, Callable(), None, list.append):
            sweep(lambda: _native.refuse(callable, "dd->d", 0, "exact"), errors=TypeError)
        sweep(lambda: _native.parse_signature("dd&lZd->Zd"))
        sweep(lambda: _native.parse_signature("dd"), errors=ValueError)
        """)

    def test_typed_functions(self):
        self.run_sweep("""
        one = Callable()
        _native.tag(one, rows, None)
        f = typedcall.resolve(one, "d->d")
        parts = (one, "d->d", 0, address, "object row", f, "d->d", "exact")
        for make in (lambda: _native.make_function(*parts), lambda: f(0.5), lambda: repr(f),
                     lambda: (f.address, f.flags, f.signature), lambda: f.__reduce__()):
            sweep(make)
        sweep(lambda: f("x"), errors=TypeError)
        sweep(lambda: f(), errors=TypeError)
        sweep(lambda: f(x=1), errors=TypeError)
        assert f(0.5) == libm_erf(0.5)
        """.replace("libm_erf(0.5)", "__import__('math').erf(0.5)"))

    def test_python_api(self):
        self.run_sweep("""
        one = Callable()
        sweep(lambda: typedcall.tag(one, "d->d", address), lambda taken: typedcall.untag(one))
        typedcall.tag(one, "d->d", address)
        sweep(lambda: typedcall.entries(one))
        sweep(lambda: typedcall.signatures(one))
        sweep(lambda: typedcall.resolve(one, "d->d"))
        sweep(lambda: typedcall.resolve(one, "l->l"), errors=TypeError)
        """)


if __name__ == "__main__":
    unittest.main()
