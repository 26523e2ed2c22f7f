"""Cells of the matrix for the end of the interpreter and for other interpreters."""
import atexit
import importlib
import importlib.util
import os
import pathlib
import sys
import threading

import support
import typedcall
from matrix_sinks import Refused


def held(sink):
    """Makes the sink's callable from a function that falls back, if the sink supports this. Returns a function that
    calls it and returns true if the results are right."""
    def opposite(x):
        return -x if x < 0 else x**0.5

    entry, = typedcall.entries(support.build("fallback_functions").root)
    typedcall.tag(opposite, entry.signature, entry.address, flags=entry.flags)
    try:
        made, results = sink.held(opposite), {4.0: 2.0, -4.0: 4.0}
        sink.result(made(4.0), 2.0)
    except Refused:
        made, results = sink.held(support.build("typed_functions").half), {4.0: 2.0, -4.0: -2.0}

    def calls():
        return [sink.result(made(x), results[x]) for x in results] == [*results.values()]

    assert calls()
    return calls


def in_a_global(sink):
    """Keeps the callable in a cycle until the interpreter ends."""
    sys.kept = kept = [sink, held(sink)]
    kept.append(kept)
    return "right", "held at the end"


def at_exit(sink):
    """Calls the sink's callable in an atexit handler."""
    calls = held(sink)

    def call():
        if not calls():
            print("other results at exit", file=sys.stderr)

    atexit.register(call)
    return "right", "called at exit"


class Last:
    """Makes calls when almost everything else has been destroyed. These calls may raise exceptions."""

    def __init__(self, calls):
        self.me, self.calls, self.errors = self, calls, Exception

    def __del__(self):
        try:
            self.calls()
        except self.errors:
            pass


def in_a_destructor(sink):
    """Calls the sink's callable while the interpreter clears `sys`."""
    sys.last = Last(held(sink))
    return "right", "called at the very end"


def in_a_daemon(sink):
    """Calls the sink's callable in a daemon thread until the interpreter ends."""
    calls, has_begun = held(sink), threading.Event()

    def run(write=os.write, wrong=AssertionError):
        try:
            while True:
                for _ in range(100):
                    assert calls()
                has_begun.set()
        except wrong:
            write(2, b"other results in a thread")

    threading.Thread(target=run, daemon=True).start()
    assert has_begun.wait(60)
    return "right", "called at the end by another thread"


IN_INTERPRETER = """
import os, sys
sys.path[:0] = {paths!r}
try:
    import matrix_cells_ends, matrix_sinks
    sink = matrix_sinks.SINKS[{name!r}]()
    sink.setUp()
    calls = matrix_cells_ends.held(sink)
except ImportError as error:
    said = " ".join(str(error).split())
else:
    for _ in range(200):
        assert calls()
    sink.close()
    said = "called"
os.write({pipe}, said.encode())
"""


def made_in(sink, own_gil):
    """Makes and calls the sink's callable in two other interpreters, and calls it again in this one."""
    names = [name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name)]
    if not names:
        return "limit", "this Python cannot make interpreters"
    if own_gil and sys.version_info < (3, 12):
        return "limit", "before CPython 3.12 all interpreters share one GIL"
    interpreters = importlib.import_module(names[0])
    if sys.version_info >= (3, 13):
        create = lambda: interpreters.create("isolated" if own_gil else "legacy")
    else:
        create = lambda: interpreters.create(isolated=own_gil)
    calls = held(sink)
    paths = [str(pathlib.Path(__file__).parent), *(path for path in sys.path if path)]
    there, pipe = os.pipe()
    said = b""
    for _ in range(2):
        other = create()
        failed = interpreters.run_string(other, IN_INTERPRETER.format(paths=paths, name=sink.name, pipe=pipe))
        assert failed is None, getattr(failed, "formatted", failed)
        interpreters.destroy(other)
        said = os.read(there, 200)
        if said != b"called":
            break
    assert calls(), "in the main interpreter"
    if said == b"called":
        return "right", "called here and there"
    # A library may refuse to be loaded in another interpreter.
    return ("limit" if sink.library else "wrong"), said.decode()


ENDS = {"a global": in_a_global, "an atexit handler": at_exit, "a destructor": in_a_destructor, "a daemon thread": in_a_daemon}
INTERPRETERS = {"one GIL": lambda sink: made_in(sink, False), "a GIL of its own": lambda sink: made_in(sink, True)}
