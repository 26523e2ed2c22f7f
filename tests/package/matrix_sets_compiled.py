"""The sinks of matrix_sets.py that compile a call for the types of its arguments."""
import contextlib
import os

import matrix_sets


class Numba:
    """Compiles one call for each set of types, with arguments that are no constants."""

    name, library, takes = "numba", "numba", matrix_sets.NUMBERS | {"Zf", "Zd"}
    types = (*matrix_sets.INTS, "bool", "float32", "float64", "complex64", "complex128")

    def made(self, function):
        import numba
        import numpy

        compiled = {}

        def call(arguments):
            count = len(arguments)
            if count not in compiled:
                given = ", ".join(f"a{at}" for at in range(count))
                scope = {"f": function}
                exec(f"def caller({given}):\n    return f({given})", scope)
                compiled[count] = numba.njit(scope["caller"])
            values = [numpy.dtype(name).type(value) for name, value in arguments]
            return compiled[count](*values)

        return call


class Jax:
    """Arrays of one element, with 64-bit types."""

    name, library, takes = "jax", "jax", matrix_sets.NUMBERS
    types = (*matrix_sets.INTS, "bool", "float32", "float64", "complex64", "complex128")

    def __init__(self):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax

        self.jax = jax

    def made(self, function):
        import numpy

        from typedcall.jax import elementwise

        made = elementwise(function, pure=True)

        def call(arguments):
            with self.x64():
                return numpy.asarray(made(*(self.jax.numpy.array([value], name) for name, value in arguments)))

        return call

    @contextlib.contextmanager
    def x64(self):
        before = self.jax.config.jax_enable_x64
        self.jax.config.update("jax_enable_x64", True)
        try:
            yield
        finally:
            self.jax.config.update("jax_enable_x64", before)


SINKS = {sink.name: sink for sink in (Jax, Numba)}
