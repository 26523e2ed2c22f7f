"""Sinks of the matrix that choose an overload by the values of each call: the wrapper, TypedFunction, PyPy, SQLite and
tvm-ffi."""
import numbers
import sys

import support
import typedcall
from matrix_c_types import asked
from matrix_sink import Refused, RefusedResult, Sink, counts, kind_in_text, signature_of
from typedcall.pypy import accelerate, restore


class Wrapper(Sink):
    name, has_names = "wrapper", True

    def made(self, function):
        return function

    def letting_go(self):
        raise Refused("for a wrapper the effect releases_gil decides")


class TypedFunction(Sink):
    """The function that resolve() returns for the complete signature. The caller chooses the overload whose C types
    match the values."""

    name, has_names = "typed function", True

    def made(self, function):
        if sorted(set(counts(function)), reverse=True) == counts(function):
            return typedcall.resolve(function, typedcall.entries(function)[0].signature)

        def call(*arguments, **names):
            if names:
                raise Refused("among overloads the caller names the types, and asks by position")
            return typedcall.resolve(function, asked(function, arguments).signature)(*arguments)

        return call


class PyPyWrapper(Wrapper):
    """The function's wrapper on PyPy."""

    name, is_on_pypy = "pypy wrapper", True


class PyPyTypedFunction(TypedFunction):
    name, is_on_pypy = "pypy typed function", True

    def made(self, function):
        try:
            return super().made(function)
        except TypeError as error:
            raise Refused(str(error)) from None


class PyPy(Sink):
    """The replacement that typedcall.accelerate() makes. The sink then restores the original functions, which provide
    the expected results."""

    name, has_names, is_on_pypy = "pypy", True, True

    def setUp(self):
        self.modules = {}

    def made(self, function):
        module = sys.modules[function.__module__]
        if getattr(module, function.__name__, None) is not function:
            raise Refused("functions of modules are accelerated")
        if module not in self.modules:
            done = accelerate(module, trust="thread_safe")
            self.modules[module] = {name: getattr(module, name) for name in done.accelerated if "." not in name}, done
            restore(module)
        direct, done = self.modules[module]
        if function.__name__ not in direct:
            raise Refused(f"the original is called: {done.refused[function.__name__]}")
        return direct[function.__name__]

    def letting_go(self):
        raise Refused("PyPy releases its lock around every direct call")


class Sql(Sink):
    """A base class for SQL databases, which register functions by name."""

    threads_share = False

    def close(self):
        self.connection.close()

    @staticmethod
    def name_of(function):
        # SQL has functions with some of these names, and ignores case.
        return "typed_" + "".join(each + "_" if each.isupper() else each for each in function.__name__)

    def made(self, function):
        import typedcall.sql

        name = self.name_of(function)
        try:
            typedcall.sql.register(self.connection, function, name=name)
        except TypeError as error:
            raise Refused(str(error)) from None

        def call(*arguments):
            marks = ", ".join("?" * len(arguments))
            return self.connection.execute(f'SELECT "{name}"({marks})', arguments).fetchall()[0][0]

        return call

    def many(self, function, values):
        self.made(function)
        rows = " UNION ALL ".join(f"SELECT {value!r} AS x" for value in values)
        text = f"SELECT sum({self.name_of(function)}(x)) FROM ({rows})"
        return lambda: self.connection.execute(text).fetchall()

    def single(self, function, value):
        self.made(function)
        cursor, text = self.connection.cursor(), f"SELECT {self.name_of(function)}({value!r})"
        return lambda: cursor.execute(text), lambda given: given.fetchall()[0][0]

    def passing(self, value, letters):
        if not isinstance(value, (bytes, bytearray)):
            self.crossing(value)

    def crossing(self, value):
        if value is None:
            raise Refused("SQL handles NULL itself")

    def kind_of(self, error):
        return kind_in_text(error)


class Sqlite(Sql):
    name, library = "sqlite", "apsw"

    def setUp(self):
        import apsw

        self.connection = apsw.Connection(":memory:")

    def crossing(self, value):
        super().crossing(value)
        if type(value) not in (int, float, str, bytes):
            raise Refused("SQLite has no such value")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("SQLite has no such integer")
        if value != value:
            raise Refused("SQLite has no nan")

    def giving(self, value):
        if value is not None and not isinstance(value, bool):
            self.crossing(value)

    def kind_of(self, error):
        if "too large for an INTEGER of SQLite" in str(error):
            raise RefusedResult("SQLite has no such integer")
        return "TypeError" if "wrong number of arguments" in str(error) else super().kind_of(error)

    def result(self, value, wanted):
        return bool(value) if isinstance(wanted, bool) and value in (0, 1) else value


class Sqlite3(Sqlite):
    """Python's sqlite3 module, if it can load extensions."""

    name, library, is_built = "sqlite3", "sqlite3", support.SQLITE3_LOADS

    def setUp(self):
        import sqlite3

        self.connection = sqlite3.connect(":memory:", check_same_thread=False)


class TvmFfi(Sink):
    name, library = "tvm-ffi", "tvm_ffi"

    def made(self, function):
        import typedcall.tvm_ffi

        return typedcall.tvm_ffi.function(function)

    def passing(self, value, letters):
        is_array = type(value).__name__ == "ndarray"
        if is_array and not value.flags.writeable:
            raise Refused("NumPy makes no tensor from a read-only array")
        if not is_array and not isinstance(value, (bytes, bytearray)):
            self.crossing(value)

    def crossing(self, value):
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("tvm-ffi has no such int")
        if type(value) not in (bool, int, float, str, bytes, type(None)) and not hasattr(value, "__dlpack__"):
            raise Refused("tvm-ffi has no such value")

    def kind_of(self, error):
        # tvm-ffi has no BufferError, OverflowError or SystemError. It raises RuntimeError with the same text.
        text = str(error)
        if "is not writable" in text or "is not C-contiguous" in text:
            return "BufferError"
        if "result is too large for an int of tvm-ffi" in text:
            raise RefusedResult("tvm-ffi has no such int")
        if type(error) is RuntimeError and ("does not fit" in text or "no overload" in text or "int too large" in text):
            return "OverflowError"
        return "SystemError" if "without setting an exception" in text else kind_in_text(error)

    def giving(self, value):
        if value is not None:
            TvmFfi.crossing(self, value)

    def result(self, value, wanted):
        # tvm-ffi has its own class for texts of more than 7 bytes.
        return str(value) if isinstance(value, str) else value


def closure_of(function, signature, flags):
    """Makes a typed function from a tvm-ffi function. Raises Refused for types that tvm-ffi cannot pass."""
    try:
        return typedcall.tvm_ffi.typed_function(function, signature, flags=flags)
    except ValueError as error:
        raise Refused(str(error)) from None


class Closure(TvmFfi):
    """A typed function made from a tvm-ffi function that was made from a typed function."""

    name, flags, has_typed_results = "closure", 0, True

    def made(self, function):
        import typedcall.tvm_ffi

        inner, closures = typedcall.tvm_ffi.function(function), {}

        def call(*arguments):
            entry = asked(function, arguments)
            for value, letters in zip(arguments, entry.python_types()[0]):
                if letters == "L" and isinstance(value, numbers.Integral) and 2**63 <= value < 2**64:
                    raise Refused("tvm-ffi has no such int")
            signature = signature_of(entry)
            if signature not in closures:
                outer = closure_of(inner, signature, self.flags)
                closures[signature] = typedcall.resolve(outer, typedcall.signatures(outer)[0])
            return closures[signature](*arguments)

        return call

    def held(self, function):
        import typedcall.tvm_ffi

        signature = signature_of(*typedcall.entries(function))
        outer = closure_of(typedcall.tvm_ffi.function(function), signature, self.flags)
        return typedcall.resolve(outer, typedcall.signatures(outer)[0])

    def crossing(self, value):
        """TypedFunction checks the values."""


class FreeClosure(Closure):
    """A closure for callers without the GIL. It falls back if an error occurs."""

    name, falls_back_there, flags = "free closure", True, int(typedcall.Flags.PURE | typedcall.Flags.THREAD_SAFE)
