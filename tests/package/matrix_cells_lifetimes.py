"""Cells of the matrix for lifetimes and cycles."""
import ctypes
import gc
import sys
import sysconfig
import types
import weakref

import support
import typedcall
from matrix_sinks import Refused
from support import leaks

GONE = """
class Class:
    @staticmethod
    def vanishing(x):
        if x >= 0:
            raise AssertionError("the C function is called")
        return limit * x

limit = 8
"""


class Kept(ctypes.c_void_p):
    """The address of a C function. This class supports weak references."""


def entry_of(module, name):
    entry, = typedcall.entries(getattr(support.build(module), name))
    return entry


def tagged(function, entry):
    """Tags the function with an entry's C function. Returns the object that the tag must keep alive."""
    kept = Kept(entry.address)
    typedcall.tag(function, entry.signature, kept, flags=entry.flags)
    return kept


def churn():
    """Collects garbage, and overwrites freed memory."""
    while gc.collect():
        pass
    return [ctypes.create_string_buffer(size) for size in range(16, 512, 8) for _ in range(20)]


def vanishing(entry):
    """Returns a tagged function, to which only a class refers, and the object that the tag must keep alive."""
    module = types.ModuleType("vanishing")
    exec(GONE, vars(module))
    sys.modules["vanishing"] = module
    function = module.Class.vanishing
    return function, tagged(function, entry)


def kept_alive(sink, entry, results):
    """Calls the sink's callable after the function's class and module are gone."""
    function, kept = vanishing(entry)
    watched = weakref.ref(kept)
    made = sink.held(function)
    del function, kept, sys.modules["vanishing"]
    over = churn()
    if watched() is None:
        return "wrong", "the object that the tag keeps is gone"
    got = [sink.result(made(x), wanted) for x, wanted in results.items()]
    del over
    return "right" if got == list(results.values()) else "wrong", f"gives {got}"


def kept_function(sink):
    return kept_alive(sink, entry_of("typed_functions", "half"), {4.0: 2.0})


def kept_callable(sink):
    return kept_alive(sink, entry_of("fallback_functions", "root"), {4.0: 2.0, -4.0: -32.0})


class Cyclic:
    __name__ = "cyclic"

    def __call__(self, x):
        return x


def cycle(sink):
    """Drops a cycle of a function, its entry and the sink's callable."""
    function = Cyclic()
    kept = tagged(function, entry_of("typed_functions", "half"))
    # On free-threaded builds a cycle through `kept` is never collected. See docs/explanation/lifetimes.md.
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        kept.function = function
    function.made = sink.held(function)
    assert sink.result(function.made(8.0), 4.0) == 4.0
    sink.close()
    watched = weakref.ref(function), weakref.ref(kept)
    del function, kept
    churn()
    left = [name for name, reference in zip(("the function", "what its tag keeps"), watched) if reference() is not None]
    return "wrong" if left else "right", " and ".join(left) + " stays" if left else "all is collected"


def is_counted(work, function, times):
    try:
        # The caches of CPython and the libraries grow during the first calls.
        leaks.check(work, times, warm_up=2 * times, blocks=times, objects=times, unchanged=[function])
    except AssertionError as error:
        return "wrong", str(error)
    return "right", "as many references and blocks as before"


def making(sink):
    """Checks that making a callable leaks nothing."""
    function = support.build("typed_functions").half

    def make():
        with sink.another() as other:
            made = other.held(function)
            assert other.result(made(8.0), 4.0) == 4.0

    # DuckDB and JAX are slow.
    return is_counted(make, function, {"duckdb": 20, "jax": 100}.get(sink.name, 200))


def calling(sink):
    """Checks that calls leak nothing if they return a result, raise an exception or fall back."""
    raising = support.build("narrow_functions").checked_d
    falling = support.build("fallback_functions").root
    results = []
    for function, given in ((falling, 4.0), (raising, 13.0), (falling, -4.0)):
        try:
            made = sink.held(function)
        except Refused as error:
            results.append(("refused", str(error)))
            continue

        def call(made=made, given=given):
            try:
                made(given)
            except Exception:
                assert given != 4.0

        results.append(is_counted(call, function, 300))
    return min(results, key=lambda each: ("wrong", "right", "refused").index(each[0]))


CELLS = {"the C function": kept_function, "the callable": kept_callable, "a cycle": cycle, "making": making, "calling": calling}
