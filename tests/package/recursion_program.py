#!/usr/bin/env python3
"""Recurses without end through each consumer of a typed function.

Usage: recursion_program.py SINK BYTES     recurses in a thread with a stack of that size. Prints the exception, the
                                           number of levels, and the stack that a level takes in bytes.
       recursion_program.py [SINK ...]     prints the smallest stack with which each sink raises RecursionError."""

import array
import ctypes
import functools
import inspect
import os
import subprocess
import sys
import threading

import support
import typedcall

callbacks = support.build("callback_functions")
fallbacks = support.build("fallback_functions")
here = support.build("stack_functions").here
PLACES = []  # an address on the stack for each level


def tagged(f, *of):
    """Tags a callable with C functions that fall back."""
    entries = [entry for each in of for entry in typedcall.entries(each)]
    typedcall.tag(f, [each.signature for each in entries], [each.address for each in entries],
                  flags=[each.flags for each in entries])
    return f


def endless(make, *of):
    """Returns a Python function that falls back and calls the sink `make(function)`."""
    def f(*arguments):
        PLACES.append(here())
        return f.sink(*arguments)

    f.sink = make(tagged(f, *of))
    return f


def numpy_frompyfunc():
    """A control: NumPy's own."""
    import numpy

    made = numpy.frompyfunc(lambda x: PLACES.append(here()) or made(x), 1, 1)
    return lambda: made(-1.0)


def numpy_matmul():
    """A control: NumPy's own generalised ufunc, of objects that multiply by calling it."""
    import numpy

    class Endless:
        def __mul__(self, other):
            PLACES.append(here())
            return x @ x

    x = numpy.array([Endless()])
    return lambda: x @ x


def apsw_function():
    """A control: APSW's own."""
    import apsw

    def f(x):
        PLACES.append(here())
        return next(iter(connection.execute("select f(?)", (x,))))[0]

    connection = apsw.Connection(":memory:")
    connection.create_scalar_function("f", f)
    return lambda: f(-1.0)


def ufunc():
    return functools.partial(endless(typedcall.ufunc, fallbacks.root), -1.0)


def ufunc_of_other_types():
    return functools.partial(endless(typedcall.ufunc, fallbacks.gcd), -1, -1)


def ufunc_of_other_types_in_arrays():
    import numpy

    return functools.partial(endless(typedcall.ufunc, fallbacks.gcd), *[numpy.full(1000, -1)] * 2)


def ufunc_out_of_range():
    import numpy

    return functools.partial(endless(typedcall.ufunc, fallbacks.gcd), *[numpy.full(1000, 2**40)] * 2)


def ufunc_of_overloads():
    return functools.partial(endless(typedcall.ufunc, fallbacks.root, fallbacks.square), 2**40)


def gufunc():
    import numpy

    return functools.partial(endless(typedcall.ufunc, callbacks.checked_total), numpy.array([-1.0]))


def _callback(of, declaration, signature, *arguments):
    types = {"d": ctypes.c_double, "P": ctypes.c_void_p, "I": ctypes.c_uint, "i": ctypes.c_int}
    letters, result = signature.split("->")

    def make(f):
        made = make.callback = typedcall.callback(f, declaration)
        call = ctypes.PYFUNCTYPE(types[result], *map(types.get, letters))(made.address)
        return lambda *_: call(*(made.data if each is ... else each for each in arguments))

    f = endless(make, of)

    def run():
        f()
        make.callback.check()

    return run


def callback():
    return _callback(callbacks.root, "double (*)(double x, void *params)", "dP->d", -1.0, ...)


def callback_of_array():
    x, gradient = (ctypes.c_double * 2)(-1, -1), (ctypes.c_double * 2)()
    return _callback(callbacks.checked_squares, "double(unsigned n, const double *x, double *gradient, void *data)",
                     "IPPP->d", 2, x, gradient, ...)


def callback_made_by_libffi():
    return _callback(callbacks.checked_total, "double (short n, double x[n], void *data)", "iPP->d",
                     2, (ctypes.c_double * 2)(-1, -1), ...)


def _sql(connection, value, *of):
    from typedcall import sql

    def make(f):
        sql.register(connection, f, name="f")
        return lambda x: next(iter(connection.cursor().execute("select f(?)", (x,)).fetchall()))[0]

    return functools.partial(endless(make, *of), value)


def sqlite():
    import apsw

    return _sql(apsw.Connection(":memory:"), -1.0, fallbacks.root)


def sqlite_overloads():
    import apsw

    return _sql(apsw.Connection(":memory:"), 2**40, fallbacks.root, fallbacks.square)


def duckdb():
    import duckdb

    return _sql(duckdb.connect(config={"threads": 1, "allow_unsigned_extensions": "true"}), -1.0, fallbacks.root)


def jax():
    """JAX itself refuses a compiled function that calls itself."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    from typedcall.jax import elementwise

    return functools.partial(endless(lambda f: jax.jit(elementwise(f, pure=True)), fallbacks.root), -1.0)


def _jax_chain(make):
    """Calls compiled functions of which each calls the next one. The last one raises RecursionError."""
    calls, is_deep = [], []

    def function(at):
        def f(x):
            PLACES.append(here())
            if is_deep and at == 15:
                raise RecursionError
            return float(calls[at + 1](-1.0)) if is_deep else -1.0

        return f

    calls += [make(function(at)) for at in range(16)]
    for call in calls:
        call(-1.0).block_until_ready()  # compiles it
    PLACES.clear()
    is_deep.append(True)
    return lambda: calls[0](-1.0).block_until_ready()


def jax_pure_callback():
    """A control: JAX's own."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import numpy

    result = jax.ShapeDtypeStruct((), "float32")
    return _jax_chain(lambda f: jax.jit(lambda x: jax.pure_callback(lambda y: numpy.float32(f(y)), result, x)))


def jax_of_compiled_functions():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    from typedcall.jax import elementwise

    return _jax_chain(lambda f: jax.jit(elementwise(tagged(f, fallbacks.root), pure=True)))


def tvm_ffi():
    """There is no control, because at Python's limit tvm-ffi crashes with its own functions."""
    from typedcall.tvm_ffi import function

    return functools.partial(endless(function, fallbacks.root), -1.0)


def tvm_ffi_overloads():
    from typedcall.tvm_ffi import function

    return functools.partial(endless(function, fallbacks.root, fallbacks.square), 2**40)


def tvm_ffi_without_frames():
    from typedcall.tvm_ffi import function

    return _without_frames(function)


def numba():
    import numba

    return functools.partial(endless(lambda f: numba.njit(lambda x: f(x)), fallbacks.root), -1.0)


def typed_function():
    return functools.partial(endless(lambda f: typedcall.resolve(f, "d->d"), fallbacks.root), -1.0)


def typed_function_of_array():
    return functools.partial(endless(lambda f: typedcall.resolve(f, "*kd->d"), callbacks.checked_total),
                             array.array("d", [-1]))


def typed_function_with_keyword():
    def f(x=-1.0):
        PLACES.append(here())
        return typed(x=x)

    typed = typedcall.resolve(tagged(f, fallbacks.root), "d->d")
    return f


def _without_frames(make):
    """Returns a callable without Python code, which falls back to itself."""
    f = tagged(functools.partial(len), fallbacks.root)
    f.__setstate__((make(f), (), {}, {}))
    return functools.partial(f, -1.0)


def typed_function_without_frames():
    return _without_frames(lambda f: typedcall.resolve(f, "d->d"))


def ufunc_without_frames():
    return _without_frames(typedcall.ufunc)


def chain_of(count):
    """Returns a TypedFunction that falls back to another one, and so on."""
    chain = fallbacks.root
    for _ in range(count):
        chain = typedcall.resolve(chain, "d&d->i")
    return chain


def chain():
    return functools.partial(chain_of(6000), -1.0)


def names_in_a_chain():
    made = chain_of(100_000)

    def run():
        assert made.__name__ == "root" and "TypedFunction" in repr(made)
        raise RecursionError

    return run


_SHARED = {"tagged", "endless", "chain_of", "recurse", "outcome", "smallest"}
SINKS = {name: made for name, made in list(globals().items())
         if inspect.isfunction(made) and made.__module__ == __name__ and name[0] != "_" and name not in _SHARED}


def recurse(sink, size):
    """Recurses in a thread with that stack, and returns the name of the exception."""
    run, raised = SINKS[sink](), ["nothing"]

    def target():
        try:
            run()
        except Exception as error:  # SQLite, DuckDB and JAX have exceptions of their own, with Python's as text
            text = repr(error)  # tvm-ffi keeps only the message
            is_right = "RecursionError" in text or text.startswith("RuntimeError('maximum recursion depth exceeded")
            # ctypes of CPython 3.9 recurses once more for the text of the exception.
            is_right |= sys.version_info < (3, 10) and text == "ArgumentError('argument 1: ???')"
            raised[0] = "RecursionError" if is_right else text[:300]

    threading.stack_size(size)
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    return raised[0]


def outcome(sink, size):
    """Recurses in another process. Returns (exception, levels, bytes of a level), or ("", 0, 0) after a crash."""
    done = subprocess.run([sys.executable, __file__, sink, str(size)], capture_output=True, text=True, check=False,
                          timeout=300)
    raised, levels, taken = done.stdout.split("\t") if done.returncode == 0 else ("", 0, 0)
    return raised or f"status {done.returncode}: {done.stderr[-300:]}", int(levels), int(taken)


def smallest(sink, unit=1 << 16, most=1 << 27):
    """Returns a line for the table."""
    raised, levels, taken = outcome(sink, most)
    low, high = 0, most // unit
    while raised == "RecursionError" and high - low > 1:
        middle = (low + high) // 2
        if outcome(sink, middle * unit)[0] == "RecursionError":
            high = middle
        else:
            low = middle
    return f"{sink:32} {high * unit / 2**20:6.2f} MB {levels:5} levels {taken:6} bytes a level  {raised}"


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2].isdigit():
        found = recurse(sys.argv[1], int(sys.argv[2]))
        each = [before - after for before, after in zip(PLACES, PLACES[1:])]
        print(found, len(PLACES), sorted(each)[len(each) // 2] if each else 0, sep="\t")
    else:
        for name in sys.argv[1:] or SINKS:
            print(smallest(name), flush=True)
