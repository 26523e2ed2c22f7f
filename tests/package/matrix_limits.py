"""The cells of the matrix that are not run, and the reasons. These are limits of typedcall (see docs/how-to) or of
other libraries."""
import importlib.metadata
import sys

_FUNCTION = "it is the function itself"
_SITE = "a call site holds no reference: its caller has one"
_DAEMON = " ends the process if CPython before 3.14 unwinds its thread, even in calls of its own functions"
_JAX = "JAX crashes without memory, in jax.numpy.asarray() alone"
_HELD = "the collector does not look into tvm-ffi's functions"
_MAIN = "before CPython 3.12 callbacks are for the main interpreter"
_COMPILED = "a module is compiled once, and stays until the process ends"
_RENAMED = dict.fromkeys(("in Python code", "by a signal in Python code"),
                         "tvm-ffi makes it a RuntimeError, even in its own functions")
#: Limits of libraries that choose an overload by types and not by values.
_TYPES_FIRST = {
    **dict.fromkeys(("two_floats(Length(2.5))", "two_floats(np.float64(2.5))"),
                    "it has one type for a float and its subclasses"),
    **dict.fromkeys(("same_f(np.complex128(1j))", "same_d(np.complex128(1j))"),
                    "it has one type for Python's complex numbers and NumPy's, which are floats with a warning"),
    **dict.fromkeys(("larger_b(128, 2.5)", "larger_b(2147483648, 2.5)", "larger_H(2147483648, 2.5)"),
                    "of two faults it reports the types first: a TypeError"),
}
_COMPILED_CALLS = {**_TYPES_FIRST, "same_bool(b'3')": "Numba does not compile bool() of bytes"}
_CLOSURE = {
    "interrupts": _RENAMED,
    "lifetimes": {"a cycle": _HELD},
    "no_memory": {"falling back": "tvm-ffi crashes without memory for what a Python function raises"},
    "endings": {"a daemon thread": "tvm-ffi" + _DAEMON},
}

#: Reasons, keyed by sink, property and cell. "calls" stands for all properties of single calls.
LIMITS = {
    **dict.fromkeys(("ufunc", "ufunc of arrays"), {"calls": _TYPES_FIRST}),
    "wrapper": {"lifetimes": {"the C function": _FUNCTION, "the callable": _FUNCTION, "a cycle": _FUNCTION}},
    "call site": {"lifetimes": {"the C function": _SITE, "the callable": _SITE, "a cycle": _SITE}},
    **dict.fromkeys(("numba", "numba without the GIL", "numba with Optionals"), {
        "calls": _COMPILED_CALLS,
        "lifetimes": {"a cycle": "Numba keeps a cycle with compiled code, even one of njit functions alone",
                      "making": "Numba keeps part of everything that it compiles"},
        "no_memory": {"making": "Numba's njit() itself does not return without memory"},
    }),
    "sqlite": {"no_memory": dict.fromkeys(
        ("raising", "falling back"), "APSW crashes if it has no memory to raise an error, even from abs()")},
    "duckdb": {
        "no_memory": {"making": "DuckDB's cursor() ends the process without memory"},
        "endings": {"a daemon thread": "DuckDB" + _DAEMON},
        "interpreters": {"one GIL": "DuckDB shares objects between interpreters: connect() alone fails, or hangs"},
    },
    "tvm-ffi": _CLOSURE, "closure": _CLOSURE, "free closure": _CLOSURE, "closure pointer": _CLOSURE,
    "cython": {"lifetimes": {"making": _COMPILED}},
    "pypy": {"holding": {"two threads": "`trust` says that the module's functions are THREAD_SAFE"}},
    "jax": {
        "calls": _TYPES_FIRST,
        "lifetimes": {"a cycle": "JAX never frees compiled programs, which keep the function"},
        "no_memory": {"calling": _JAX, "raising": _JAX, "falling back": _JAX},
        "endings": {"a daemon thread": "JAX" + _DAEMON},
        "interpreters": {"one GIL": "JAX's own library ends the process in a second interpreter"},
    },
}

if sys.version_info < (3, 12):
    LIMITS.update({sink: {"interpreters": {"one GIL": _MAIN}} for sink in (
        "callback", "free callback", "converting callback", "made-up values", "made-up arrays",
        "long made-up arrays")})
if sys.version_info >= (3, 14):
    for _limits in LIMITS.values():
        _limits.get("endings", {}).pop("a daemon thread", None)


def why_not(sink, name, cell):
    """Returns the reason why this cell is not run, or ""."""
    if (sink.name, cell) == ("duckdb", "a destructor") and importlib.metadata.version("duckdb").startswith("1."):
        return "DuckDB 1.5.6 crashes in any query at the interpreter's end"
    if (name, cell) == ("interpreters", "a GIL of its own") and sys.version_info[:2] == (3, 12):
        return "ctypes, which the cells use, is for interpreters with one GIL in CPython 3.12"
    return LIMITS.get(sink.name, {}).get(name, {}).get(cell, "")
