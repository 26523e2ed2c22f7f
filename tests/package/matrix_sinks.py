"""The sinks of the matrix: for each how a typed function becomes a callable there, which values can cross, and what its
exceptions are in Python. A sink says in one line why it cannot do something."""
import importlib
import os
import unittest

import support
import typedcall
from matrix_choice import LIMITS


class Refused(Exception):
    """Why a sink is not asked that: a limit of the other library, or of what it is for."""


def kind_in_text(error):
    """Of an error of a library that has Python's as a text."""
    kinds = "TypeError", "OverflowError", "ValueError", "SystemError"
    return next((kind for kind in kinds if kind in str(error)), type(error).__name__)


class Sink:
    """What all have in common."""

    name = ""
    #: The library that has to be installed.
    library = None
    #: Its calls have keywords.
    has_names = False
    #: A result has the C function's type, also where Python gave it.
    has_typed_results = False

    def setUp(self):
        if self.library is not None:
            importlib.import_module(self.library)

    def close(self):
        """Lets go of what setUp() has made."""

    def made(self, function):
        """A callable that calls the typed function there."""
        raise NotImplementedError

    def crossing(self, value):
        """Refused, with the reason, for a value that the library has not got."""

    def letting_go(self):
        """Refused where the GIL is not the sink's to let go of."""

    def kind_of(self, error):
        """The name of the exception that it is in Python."""
        return type(error).__name__

    def result(self, value, wanted):
        """What a result is in Python, where that gives `wanted`."""
        return value


class Wrapper(Sink):
    name, has_names = "wrapper", True

    def made(self, function):
        return function

    def letting_go(self):
        raise Refused("a wrapper is told by an effect what to do: releases_gil")


class Ufunc(Sink):
    name, library = "ufunc", "numpy"

    def made(self, function):
        try:
            made = typedcall.ufunc(function)
        except TypeError as error:
            raise Refused(str(error)) from None

        def call(*arguments):
            if len(arguments) != made.nin and max(len(e.python_types()[0]) for e in typedcall.entries(function)) == made.nin:
                raise Refused("a ufunc has one number of arguments: all of them")
            return made(*arguments)

        return call

    def crossing(self, value):
        import numpy

        if not isinstance(value, (bool, int, float, complex, numpy.generic)):
            raise Refused("NumPy makes an array of objects of it, or of characters")
        if isinstance(value, int) and not -2**63 <= value < 2**64:
            raise Refused("NumPy has no such integer")

    def result(self, value, wanted):
        return value.item() if hasattr(value, "item") else value


class Numba(Sink):
    name, library, has_names, has_typed_results = "numba", "numba", True, True

    def setUp(self):
        super().setUp()
        import numba

        self.numba = numba
        self.compiled = {}

    def made(self, function):
        by_count = self.compiled.setdefault(function, {})

        def of(count):
            if count not in by_count:
                names = ", ".join(f"a{i}" for i in range(count))
                scope = {"f": function}
                exec(f"def caller({names}):\n    return f({names})", scope)
                by_count[count] = self.numba.njit(scope["caller"])
            return by_count[count]

        def call(*arguments):
            try:
                return of(len(arguments))(*arguments)
            except self.numba.core.errors.NumbaError as error:
                if "depends on the value of argument" in str(error):
                    raise Refused("compiled code has one type of results, and here the value decides") from None
                raise TypeError(str(error).partition("\n")[0]) from None

        return call

    def crossing(self, value):
        import numpy

        if not isinstance(value, (bool, int, float, complex, numpy.generic)):
            raise Refused("Numba has no such value")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("Numba has no such int")


class Sqlite(Sink):
    name, library = "sqlite", "apsw"

    def setUp(self):
        import apsw

        self.connection = apsw.Connection(":memory:")

    def close(self):
        self.connection.close()

    def made(self, function):
        import typedcall.sql

        name = function.__name__
        typedcall.sql.register(self.connection, function, name=name)

        def call(*arguments):
            marks = ", ".join("?" * len(arguments))
            return self.connection.execute(f"SELECT {name}({marks})", arguments).fetchall()[0][0]

        return call

    def crossing(self, value):
        if type(value) not in (int, float, str, bytes):
            raise Refused("SQLite has no such value")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("SQLite has no such integer")

    def kind_of(self, error):
        return "TypeError" if "wrong number of arguments" in str(error) else kind_in_text(error)

    def result(self, value, wanted):
        return bool(value) if isinstance(wanted, bool) and value in (0, 1) else value


class DuckDb(Sqlite):
    name, library, has_typed_results = "duckdb", "duckdb", True

    def setUp(self):
        import duckdb

        self.connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})

    def made(self, function):
        import typedcall.sql

        try:
            typedcall.sql.register(self.connection, function, name=function.__name__)
        except TypeError as error:
            raise Refused(str(error)) from None

        def call(*arguments):
            marks = ", ".join("?" * len(arguments))
            return self.connection.execute(f"SELECT {function.__name__}({marks})", arguments).fetchall()[0][0]

        return call

    def crossing(self, value):
        if type(value) not in (bool, int, float, str, bytes):
            raise Refused("DuckDB has no such value")

    def kind_of(self, error):
        # Its binder's error is what a TypeError is.
        return "TypeError" if type(error).__name__ == "BinderException" else kind_in_text(error)

    def result(self, value, wanted):
        return value


class TvmFfi(Sink):
    name, library = "tvm-ffi", "tvm_ffi"

    def made(self, function):
        import typedcall.tvm_ffi

        return typedcall.tvm_ffi.function(function)

    def crossing(self, value):
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("tvm-ffi has no such int")
        if type(value) not in (bool, int, float, str):
            raise Refused("tvm-ffi has no such value")

    def kind_of(self, error):
        # It has neither OverflowError nor SystemError: they are RuntimeErrors there, with Python's texts.
        text = str(error)
        if type(error) is RuntimeError and ("does not fit" in text or "no overload" in text):
            return "OverflowError"
        return "SystemError" if "without setting an exception" in text else kind_in_text(error)


class Jax(Sink):
    name, library = "jax", "jax"

    def setUp(self):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax

        if not hasattr(jax, "ffi"):
            raise unittest.SkipTest("jax.ffi came with JAX 0.5, this is %s" % jax.__version__)
        self.jax, self.before = jax, jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)

    def close(self):
        self.jax.config.update("jax_enable_x64", self.before)

    def made(self, function):
        from typedcall.jax import elementwise

        # It wants functions that are PURE: where one is not, a twin says so.
        def twin(*arguments):
            return function(*arguments)

        entries = typedcall.entries(function)
        if all(entry.flags & typedcall.Flags.PURE for entry in entries):
            return elementwise(function)
        typedcall.tag(twin, [entry.signature for entry in entries], [entry.address for entry in entries],
                      flags=[int(entry.flags | typedcall.Flags.PURE | typedcall.Flags.THREAD_SAFE) for entry in entries])
        try:
            return elementwise(twin)
        except TypeError as error:
            raise Refused(str(error)) from None

    def crossing(self, value):
        if type(value) not in (bool, int, float):
            raise Refused("JAX has arrays of numbers")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("JAX has no such int")

    def kind_of(self, error):
        return kind_in_text(error)

    def result(self, value, wanted):
        return value.item()


class CppSite(Sink):
    """C++ asks for one signature, and has values of its types: modules/matrix_probe.cc."""

    name = "call site"

    def setUp(self):
        self.probe = support.build("matrix_probe", ["-lffi"])

    def made(self, function):
        entries = typedcall.entries(function)
        if len(entries) > 1:
            raise Refused("C++ names the signature that it wants: it does not choose")
        (self.letter, *others), self.result_type = entries[0].python_types()
        if others or self.result_type != self.letter:
            raise Refused("the probe calls functions of one type")
        if self.name == "call site" and entries[0].flags & (typedcall.Flags.RETURNS_STATUS | typedcall.Flags.FALLS_BACK):
            raise Refused("a call site gives the C function as it is")
        return lambda value: self.probe.call(self.name, self.letter, function, value)

    def crossing(self, value):
        kind = {"?": bool, "f": float, "d": float}.get(self.letter, int)
        low, high = LIMITS.get(self.letter, (value, value))
        if type(value) is not kind or not low <= value <= high:
            raise Refused("no value of the C++ type")


    def letting_go(self):
        raise Refused("the C++ caller says that it can lose the GIL, and does")


class CppFallback(CppSite):
    name = "fallback"

    def made(self, function):
        if typedcall.entries(function)[0].flags & typedcall.Flags.RETURNS_STATUS:
            raise Refused("it calls what falls back, and plain functions")
        return super().made(function)


class CppLoop(CppSite):
    name = "loop"


SINKS = {sink.name: sink for sink in (Wrapper, Ufunc, Numba, Sqlite, DuckDb, TvmFfi, Jax, CppSite, CppFallback, CppLoop)}
