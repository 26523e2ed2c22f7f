"""The base class of the matrix's sinks, which matrix_sinks.py lists, and the exception with which they refuse a
cell."""
import contextlib
import importlib

import typedcall


class Refused(Exception):
    """Raised if a sink cannot run a cell, because of a limit of the other library or because the sink is not meant
    for it."""


def kind_in_text(error):
    """Returns the name of the Python exception that the text of a library's error mentions."""
    kinds = "TypeError", "OverflowError", "ValueError", "SystemError", "IndexError"
    return next((kind for kind in kinds if kind in str(error)), type(error).__name__)


def is_array(value):
    """True if libraries that accept NumPy arrays treat the value as an array."""
    return hasattr(value, "__array__") or type(value).__name__ in ("array", "memoryview")


class Sink:
    """One way to turn a typed function into a callable, and what the callable accepts and returns."""

    name = ""
    #: The name of the library that must be installed, if any.
    library = None
    #: Whether calls accept keyword arguments.
    has_names = False
    #: Whether a result has the C function's type even if Python code computed it.
    has_typed_results = False
    #: Whether a call falls back to the other library's function instead of the Python function.
    falls_back_there = False
    #: Whether several threads may call one callable.
    threads_share = True
    #: Whether the sink exists on PyPy only. All other sinks exist on CPython only.
    is_on_pypy = False
    #: Whether this interpreter was built with the features that the sink needs.
    is_built = True

    def setUp(self):
        if self.library is not None:
            importlib.import_module(self.library)

    def close(self):
        """Releases everything that setUp() has made."""

    @contextlib.contextmanager
    def another(self):
        """Returns a second sink, for another thread."""
        other = type(self)()
        other.setUp()
        try:
            yield other
        finally:
            other.close()

    def made(self, function):
        """Returns the sink's callable for a typed function. The method raises Refused for the function, and the
        callable for the values of one call."""
        raise NotImplementedError

    def held(self, function):
        """Returns the sink's callable for a function of one double. The sink itself keeps no object alive that the
        library's own object must keep alive."""
        return self.made(function)

    def single(self, function, value):
        """Returns a function that makes one call with as little of the library's code as possible, and a function that
        reads the call's result."""
        made = self.held(function)
        return lambda: made(value), lambda given: given

    def many(self, function, values):
        """Returns a function that makes one call for all these values."""
        raise Refused("it is called for one value at a time")

    def detached(self, function):
        """Returns a callable like made() that calls the function without the GIL."""
        raise Refused("its callers hold the GIL, or must hold it for such functions")

    def crossing(self, value):
        """Raises Refused for a value that the library cannot represent, regardless of the function."""

    def giving(self, value):
        """Raises Refused for a result of Python code that the library cannot represent."""

    def passing(self, value, letters):
        """Raises Refused for an object that the library does not pass as a buffer with these letters."""
        self.crossing(value)

    def letting_go(self):
        """Raises Refused if the sink is not responsible for releasing the GIL."""

    def kind_of(self, error):
        """Returns the name of the Python exception that a library's error stands for. Raises Refused if the error
        says that the library cannot represent the result."""
        return type(error).__name__

    def is_interrupt(self, error):
        """True if the library raises this error in place of KeyboardInterrupt."""
        return False

    def result(self, value, wanted):
        """Returns the library's result as Python would return it. `wanted` is Python's own result."""
        return value


def counts(function):
    """Returns the number of arguments of each of the function's entries."""
    return [len(entry.python_types()[0]) for entry in typedcall.entries(function)]


def signature_of(entry):
    """Returns an entry's signature with the types that Python passes and gets."""
    arguments, result = entry.python_types()
    return "".join(arguments) + "->" + result
