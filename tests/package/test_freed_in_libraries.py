"""Tests what libraries call, and Python code frees during the call: Callbacks, SQL functions, tvm-ffi functions. Each
case runs in a separate process, in which freed memory is overwritten.

NumPy and cffi are not tested: their own functions, such as numpy.frompyfunc's, crash if they are freed while they run."""
import importlib.util
import textwrap

import support
from test_lifetimes import Process

support.module_only_if(not support.IS_PYPY, "for CPython: PyPy has none of these")

FREES = """
import functools
sys.path[:0] = %r
import callback_functions
import fallback_functions
from typedcall import Flags
sys.unraisablehook = lambda raised: print("unraisable:", raised.exc_type.__name__)
held, freed = {}, []
def free():
    what = held.pop("what")
    if type(what) is functools.partial:  # it calls its function without a reference
        what.__setstate__((print, (), {}, {}))
    elif what is not None:
        what()
    del what
    gc.collect()
    freed.append([b"\\x55" * n for n in range(32, 1024, 8) for _ in range(20)])
def falls_back(function, of=fallback_functions.root):
    entry, = typedcall.entries(of)
    typedcall.tag(function, entry.signature, entry.address, flags=entry.flags)
    return function
def tagged(native, flags, signature="d->d"):
    def f(x): return "of Python"
    typedcall.tag(f, signature, native, flags=flags)
    return f
NEEDS_THREAD = Flags.NEEDS_THREAD | Flags.MAY_RAISE
FALLS_BACK = ctypes.CFUNCTYPE(ctypes.c_int, double, ctypes.POINTER(double))
def seven(x): return free() or 7.0
def function(how):
    return falls_back(lambda x: seven(x)) if how == "falls back" else tagged(Callback(lambda x: seven(x)), how)
"""

CALLBACK = """
def call_as(prototype, function, *arguments, of="double (*)(double x, void *params)", types=(double,)):
    freed.clear()
    made = typedcall.callback(function, of)
    called = prototype(double, *types, ctypes.c_void_p)(made.address)
    data = made.data
    held["what"] = lambda made=made: None
    watched = weakref.ref(made)
    del made, function
    result = called(*arguments, data)
    gc.collect()
    return result, watched() is None and len(freed) == 1
# ctypes holds the GIL while it calls a PYFUNCTYPE.
for call in (functools.partial(call_as, each) for each in (ctypes.PYFUNCTYPE, ctypes.CFUNCTYPE)):
"""

# How the function of a sink runs Python code.
WAYS = '"falls back", NEEDS_THREAD, Flags.ACQUIRES_GIL'


class Freed(Process):
    def prints(self, code, expected, library=None):
        if library is not None and importlib.util.find_spec(library) is None:
            self.skipTest("%s is not installed" % library)
        folders = [support.module_folder(each) for each in ("callback_functions", "fallback_functions")]
        self.runs(FREES % folders + code, expected)


class Callbacks(Freed):
    def gives(self, code, *expected):
        """Runs code in which `call` makes a Callback and calls it, with the GIL and then without it."""
        self.prints(CALLBACK + textwrap.indent(code, "    "), "\n".join(expected * 2))

    def test_by_the_function(self):
        self.gives("print([call(function(how), -1.0) for how in (%s)])" % WAYS,
                   "[(7.0, True), (7.0, True), (7.0, True)]")

    def test_by_a_callable_that_nothing_else_holds(self):
        self.gives("""
class F:
    def __call__(self, x):
        free()
        return self.value
f = F()
f.value = 7.0
held["f"] = falls_back(f)
del f
print(call(held.pop("f"), -1.0))
""", "(7.0, True)")

    def test_by_a_function_that_raises(self):
        self.gives("""
def raises(x):
    free()
    raise KeyError(x)
print(call(falls_back(raises), -1.0))
""", "unraisable: KeyError", "(nan, True)")

    def test_by_a_function_of_arrays(self):
        self.gives("""
def f(x, gradient):
    free()
    gradient[0] = 2.0
    return 7.0
x, gradient = (double * 1)(-1), (double * 1)()
compiled = "double(unsigned n, const double *x, double *gradient, void *data)"
print(call(falls_back(f, callback_functions.checked_squares), 1, x, gradient, of=compiled,
           types=(ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)), gradient[0])
f = falls_back(lambda x: seven(x), callback_functions.checked_total)
by_libffi = "double (short n, double x[n], void *data)"
print(call(f, 1, x, of=by_libffi, types=(ctypes.c_short, ctypes.c_void_p)))
""", "(7.0, True) 2.0", "(7.0, True)")

    def test_by_a_function_that_falls_back_afterwards(self):
        """A function that takes the GIL itself runs without the Callback's callable, so it gives the error value."""
        self.gives("""
def f(x): return 7.0
for flags in (Flags.NEEDS_THREAD, Flags.ACQUIRES_GIL):
    native = FALLS_BACK(lambda x, result: free() or 1)
    typedcall.tag(f, "d&d->i", native, flags=Flags.FALLS_BACK | flags)
    print(call(f, -1.0))
    typedcall.untag(f)
""", "(7.0, True)", "(nan, True)")

    def test_by_its_own_end(self):
        """A weak reference's callback calls it while it is freed."""
        self.gives("""
made = typedcall.callback(falls_back(lambda x: 7.0), "double (*)(double x, void *params)")
called = ctypes.PYFUNCTYPE(double, double, ctypes.c_void_p)(made.address)
watched = weakref.ref(made, lambda gone, data=made.data: print(called(-1.0, data)))
del made
""", "7.0")


class SQL(Freed):
    """The libraries hold a function that runs, or refuse."""

    def test_sqlite(self):
        self.prints("""
import apsw
from typedcall import sql
def attempts(attack):
    try:
        attack()
    except apsw.Error as error:
        print(type(error).__name__, end=" ")
for how in (%s):
    for attack in (lambda: c.close(), lambda: sql.register(c, function(NEEDS_THREAD), name="f"),
                   lambda: c.create_scalar_function("f", None, 1), held.clear):
        c = held["c"] = apsw.Connection(":memory:")
        held["what"] = lambda: attempts(attack)
        sql.register(c, function(how), name="f")
        cursor = held["cursor"] = c.cursor()
        if attack == held.clear:
            del c, cursor
        print(list(held["cursor"].execute("select f(-1.0)")))
""" % WAYS, "\n".join([
            "ThreadingViolationError [(7.0,)]", "ExtensionLoadingError [(7.0,)]", "BusyError [(7.0,)]", "[(7.0,)]"] * 3),
            "apsw")

    def test_duckdb(self):
        self.prints("""
import duckdb
from typedcall import sql
for how in (%s):
    for attack in (lambda: sql.register(held["c"], function(NEEDS_THREAD), name="f"), held.clear):
        held["c"] = duckdb.connect(config={"threads": 1, "allow_unsigned_extensions": "true"})
        held["what"] = attack
        sql.register(held["c"], function(how), name="f")
        print(held["c"].execute("select f(-1.0::double)").fetchall())
""" % WAYS, "\n".join(["[(7.0,)]"] * 6), "duckdb")


class TvmFFI(Freed):
    def test_by_the_function(self):
        self.prints("""
from typedcall.tvm_ffi import function as to_tvm_ffi
for how in (%s):
    held["what"] = functools.partial(to_tvm_ffi(function(how)))
    print(held["what"](-1.0))
""" % WAYS, "7.0\n7.0\n7.0", "tvm_ffi")


class TypedFunctions(Freed):
    def test_of_a_function_of_tvm_ffi(self):
        self.prints("""
import tvm_ffi
from typedcall.tvm_ffi import typed_function
held["what"] = functools.partial(typedcall.resolve(typed_function(tvm_ffi.convert(lambda x: seven(x)), "d->d"), "d->d"))
print(held["what"](-1.0))
""", "7.0", "tvm_ffi")


if __name__ == "__main__":
    import unittest

    unittest.main()
