"""Sinks of the matrix that choose an overload by types: NumPy, Numba, JAX and DuckDB."""
import array
import os
import unittest

import typedcall
from matrix_sink import Refused, RefusedByValue, Sink, counts, is_array, kind_in_text
from matrix_value_sinks import Sql


class Ufunc(Sink):
    """A ufunc, or a generalised ufunc for a function of buffers."""

    name, library, has_typed_results = "ufunc", "numpy", True

    def made(self, function):
        made = self.held(function)

        def call(*arguments):
            if len(arguments) != made.nin and len(arguments) in counts(function):
                raise Refused("a ufunc has one number of arguments: that of the first entry")
            return made(*arguments)

        return call

    def kind_of(self, error):
        if "depends on the value" in str(error):
            raise RefusedByValue("a loop has one result type, and here the value decides")
        return super().kind_of(error)

    def held(self, function):
        try:
            return typedcall.ufunc(function)
        except TypeError as error:
            raise Refused(str(error)) from None

    def many(self, function, values):
        return lambda: typedcall.ufunc(function)(values)

    def writing(self, function, core):
        return typedcall.ufunc(function, signature=core)

    def passing(self, value, letters):
        import numpy

        if letters[1] != "k":
            raise Refused("a generalised ufunc returns what the function writes")
        if not isinstance(value, numpy.ndarray) or value.dtype != numpy.dtype(letters[2:]) or value.ndim != 1:
            raise Refused("NumPy converts everything to arrays of the right type, and loops over rows")
        if not value.flags.c_contiguous or not value.flags.aligned:
            raise Refused("NumPy copies rows with gaps, and at odd addresses")
        if letters[2:] == "?" and not set(value.tobytes()) <= {0, 1}:
            raise Refused("NumPy treats every byte except 0 as True")

    def crossing(self, value):
        import numpy

        if not isinstance(value, (bool, int, float, complex, numpy.generic)) and not is_array(value):
            raise Refused("NumPy makes an array of objects or characters from it")
        if isinstance(value, int) and not -2**63 <= value < 2**64:
            raise Refused("NumPy has no such integer")

    def result(self, value, wanted):
        return value.item() if getattr(value, "ndim", 1) == 0 else value


class OfArrays:
    """Calls a ufunc with arrays of equal elements. They are so long that NumPy casts them in blocks and releases the
    GIL."""

    def __init__(self, ufunc):
        self.ufunc, self.nin = ufunc, ufunc.nin

    def __call__(self, *arguments):
        import numpy

        return self.ufunc(*(numpy.full(3000, each) for each in arguments))


class UfuncOfArrays(Ufunc):
    name = "ufunc of arrays"

    def held(self, function):
        return OfArrays(super().held(function))

    def result(self, value, wanted):
        found = value.tolist()
        assert len(set(map(repr, found))) == 1, found
        return found[0]


class Numba(Sink):
    name, library, has_names, has_typed_results, nogil = "numba", "numba", True, True, False

    def setUp(self):
        super().setUp()
        import numba

        self.numba = numba
        self.compiled = {}

    def made(self, function, nogil=False):
        nogil = nogil or self.nogil
        by_names = self.compiled.setdefault((function, nogil), {})

        def of(names):
            if names not in by_names:
                by_names[names] = self.call_of(function, names, nogil)
            return by_names[names]

        def call(*arguments, **names):
            try:
                return of((*[""] * len(arguments), *names))(*arguments, *names.values())
            except self.numba.core.errors.TypingError as error:
                if "depends on the value of argument" in str(error):
                    raise RefusedByValue("compiled code has one result type, and here the value decides") from None
                if "Numba has no UTF-8" in str(error) and any(isinstance(each, str) for each in arguments):
                    raise Refused("Numba's str has no UTF-8") from None
                raise TypeError(str(error).partition("\n")[0]) from None

        return call

    def call_of(self, function, names, nogil):
        """Returns a compiled function that passes its arguments by these names. "" means by position."""
        given = [f"a{i}" for i in range(len(names))]
        passed = ", ".join(f"{name}={each}" if name else each for name, each in zip(names, given))
        scope = {"f": function}
        exec(f"def caller({', '.join(given)}):\n    return f({passed})", scope)
        return self.numba.njit(scope["caller"], nogil=nogil)

    def held(self, function):
        return self.call_of(function, ("",), self.nogil)

    def many(self, function, values):
        import numpy

        def caller(array):
            for each in array:
                function(each)

        return lambda: self.numba.njit(caller)(numpy.array(values))

    def writing(self, function, core):
        if core is not None:
            raise Refused("guvectorize passes rows with gaps as contiguous ones, to any kernel")
        given = ", ".join(f"a{i}" for i in range(counts(function)[0]))
        scope = {"f": function}
        exec(f"def caller({given}): return f({given})", scope)
        return self.numba.vectorize(scope["caller"])

    def detached(self, function):
        return self.made(function, nogil=True)

    def passing(self, value, letters):
        import numpy

        if isinstance(value, numpy.ndarray) and not value.dtype.isnative:
            raise Refused("Numba reads swapped bytes as its own")
        if isinstance(value, memoryview) and value.format in ("c", "?"):
            raise Refused("Numba has no such element")
        if not isinstance(value, (bytes, bytearray, memoryview, array.array, numpy.ndarray)):
            self.crossing(value)

    def crossing(self, value):
        import numpy

        if not isinstance(value, (int, float, complex, str, bytes, type(None), numpy.generic)) and not is_array(value):
            raise Refused("Numba has no such value")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("Numba has no such int")


class NumbaWithoutGil(Numba):
    name, nogil = "numba without the GIL", True


class NumbaOptional(Numba):
    """Passes each argument as an Optional, which is None or a value of its type."""

    name, more_values = "numba with Optionals", (None,)

    def call_of(self, function, names, nogil):
        given = [f"a{i}" for i in range(len(names))]
        passed = ", ".join(f"{name}=o{i}" if name else f"o{i}" for i, name in enumerate(names))
        lines = [f"def caller({', '.join([*given, *(f'n{i}' for i in range(len(names)))])}):"]
        lines += [f"    o{i} = None if n{i} else {each}" for i, each in enumerate(given)]
        scope = {"f": function}
        exec("\n".join([*lines, f"    return f({passed})"]), scope)
        compiled = self.numba.njit(scope["caller"], nogil=nogil)

        def call(*arguments):
            # A bool suits most parameters, so that None is passed when the call runs.
            values = [True if each is None else each for each in arguments]
            return compiled(*values, *(each is None for each in arguments))

        return call


class Jax(Sink):
    name, library, has_typed_results = "jax", "jax", True

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

        try:
            return elementwise(function, pure=True)
        except TypeError as error:
            raise Refused(str(error)) from None

    def many(self, function, values):
        import numpy

        made = self.made(function)
        return lambda: made(numpy.array(values)).block_until_ready()

    def crossing(self, value):
        import numpy

        if not isinstance(value, (int, float, complex, numpy.generic)):
            raise Refused("JAX has arrays of numbers")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("JAX has no such int")

    def kind_of(self, error):
        if "several types for such arrays" in str(error):
            raise RefusedByValue("a program has one result type, and here the value decides")
        return kind_in_text(error)

    def result(self, value, wanted):
        return value.item()


class DuckDb(Sql):
    name, library, has_typed_results = "duckdb", "duckdb", True

    def setUp(self):
        import duckdb

        self.connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})

    def single(self, function, value):
        # CPython crashes if it has no memory for a new thread's state.
        self.connection.execute("SET threads = 1")
        return super().single(function, value)

    def crossing(self, value):
        super().crossing(value)
        if type(value) not in (bool, int, float, str, bytes) or type(value) is int and abs(value) >= 2**128:
            raise Refused("DuckDB has no such value")
        if type(value) is int and self.connection.execute("SELECT typeof(?)", [value]).fetchone() == ("DOUBLE",):
            raise Refused("DuckDB before 1.5 converts an int of more than 64 bits to a float")

    def giving(self, value):
        if value is None:
            raise Refused("None is SQL's NULL")

    def kind_of(self, error):
        if "depends on the value" in str(error):
            raise RefusedByValue("a column has one type, and here the value decides")
        return "TypeError" if type(error).__name__ == "BinderException" else super().kind_of(error)

    def is_interrupt(self, error):
        # DuckDB checks for signals while it waits for a query.
        return type(error) is RuntimeError and str(error) == "Query interrupted"
