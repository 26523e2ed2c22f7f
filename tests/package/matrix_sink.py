"""The base class of the matrix's sinks, which matrix_sinks.py lists, and the exception by which they refuse a cell."""
import contextlib
import importlib

import typedcall


class Refused(Exception):
    """Why a sink is not asked: a limit of the other library, or outside its purpose."""


def kind_in_text(error):
    """Returns the name of Python's exception that is in the text of a library's error."""
    kinds = "TypeError", "OverflowError", "ValueError", "SystemError", "IndexError"
    return next((kind for kind in kinds if kind in str(error)), type(error).__name__)


def is_array(value):
    """True if libraries that take NumPy arrays take the value as an array."""
    return hasattr(value, "__array__") or type(value).__name__ in ("array", "memoryview")


class Sink:
    """How one place turns a typed function into a callable, and what that accepts and returns."""

    name = ""
    #: The library that must be installed.
    library = None
    #: Its calls accept keywords.
    has_names = False
    #: A result has the C function's type, even if Python code computed it.
    has_typed_results = False
    #: Except for fallbacks, because it falls back to the other library's function.
    falls_back_there = False
    #: Threads may call one callable.
    threads_share = True
    #: Only for PyPy; the others are for CPython.
    is_on_pypy = False
    #: This interpreter was built with what the sink needs.
    is_built = True

    def setUp(self):
        if self.library is not None:
            importlib.import_module(self.library)

    def close(self):
        """Releases what setUp() has made."""

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
        """Returns a callable that calls the typed function there. Both raise Refused: this for the function, the
        callable for the values of one call."""
        raise NotImplementedError

    def held(self, function):
        """Returns a callable of one double. The sink keeps nothing alive that the library's own object must keep."""
        return self.made(function)

    def single(self, function, value):
        """Returns a call with as little of the library's code as possible, and a function that reads its result."""
        made = self.held(function)
        return lambda: made(value), lambda given: given

    def many(self, function, values):
        """Returns a call for all these values at once."""
        raise Refused("it is called for one value at a time")

    def detached(self, function):
        """Returns a callable like made() that calls the function without the GIL."""
        raise Refused("its callers hold the GIL, or must hold it for such functions")

    def crossing(self, value):
        """Raises Refused for a value that the library cannot represent, whatever the function is."""

    def giving(self, value):
        """Raises Refused for a result of Python code that the library cannot represent."""

    def passing(self, value, letters):
        """Raises Refused for an object that the library does not pass for a buffer with these letters."""
        self.crossing(value)

    def letting_go(self):
        """Raises Refused if releasing the GIL is not the sink's business."""

    def kind_of(self, error):
        """Returns the name of Python's exception for an error. Raises Refused for an error that says that the library
        has no such result."""
        return type(error).__name__

    def is_interrupt(self, error):
        """True if the library raises this error in place of KeyboardInterrupt."""
        return False

    def result(self, value, wanted):
        """Returns a result as Python would return it, given that Python returns `wanted`."""
        return value


def counts(function):
    """Returns how many arguments each of the function's entries takes."""
    return [len(entry.python_types()[0]) for entry in typedcall.entries(function)]


def signature_of(entry):
    """Returns the types that Python passes and gets, as one text."""
    arguments, result = entry.python_types()
    return "".join(arguments) + "->" + result
