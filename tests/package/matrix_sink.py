"""The base class of the matrix's sinks."""
import contextlib
import importlib

import typedcall


class Refused(Exception):
    """Raised if a sink cannot run a cell."""


class RefusedResult(Refused):
    """Raised if a sink says, after a call, that its library has no such result."""


class RefusedByValue(Refused):
    """Raised if a sink that knows the types of a call before its values says that the values must decide."""


def kind_in_text(error):
    """Returns the name of the Python exception in the text of a library's error, or else of the error's class."""
    kinds = "TypeError", "OverflowError", "ValueError", "SystemError", "IndexError"
    return next((kind for kind in kinds if kind in str(error)), type(error).__name__)


def is_array(value):
    """Returns true if NumPy treats the value as an array."""
    return hasattr(value, "__array__") or type(value).__name__ in ("array", "memoryview")


class Sink:
    """A way to turn a typed function into a callable."""

    name = ""
    #: The library that must be installed, or None.
    library = None
    #: Whether calls accept keyword arguments.
    has_names = False
    #: Whether results of the Python callable are converted to the C function's type.
    has_typed_results = False
    #: Whether calls fall back to the other library's function and not to the Python callable.
    falls_back_there = False
    #: Whether threads may share a callable.
    threads_share = True
    #: More values for random calls.
    more_values = ()
    #: Whether the sink is for PyPy.
    is_on_pypy = False
    #: Whether this interpreter has the features that the sink needs.
    is_built = True

    def setUp(self):
        if self.library is not None:
            importlib.import_module(self.library)

    def close(self):
        """Releases what setUp() made."""

    @contextlib.contextmanager
    def another(self):
        """Yields a second sink, for another thread."""
        other = type(self)()
        other.setUp()
        try:
            yield other
        finally:
            other.close()

    def made(self, function):
        """Returns the sink's callable for a typed function. Both this method and the callable may raise Refused."""
        raise NotImplementedError

    def held(self, function):
        """Returns the sink's callable for a function of one double. The callable must keep the function alive,
        so the sink must not do so."""
        return self.made(function)

    def single(self, function, value):
        """Returns a function that makes one call, and a function that reads the result of the call."""
        made = self.held(function)
        return lambda: made(value), lambda given: given

    def many(self, function, values):
        """Returns a function that makes a single call for all these values."""
        raise Refused("it is called for one value at a time")

    def detached(self, function):
        """Like made(), but the callable calls the function without the GIL."""
        raise Refused("its callers hold the GIL, or must hold it for such functions")

    def writing(self, function, core):
        """Returns a callable that writes its results to the arrays in `out=`. `core` is the signature of a ufunc of rows,
        or None for a function of numbers."""
        raise Refused("its calls take no out=")

    def crossing(self, value):
        """Raises Refused for an argument that the library cannot represent."""

    def giving(self, value):
        """Raises Refused for a result of the Python callable that the library cannot represent."""

    def passing(self, value, letters):
        """Raises Refused for an object that the library does not pass as a buffer of this type."""
        self.crossing(value)

    def letting_go(self):
        """Raises Refused if the sink never releases the GIL."""

    def kind_of(self, error):
        """Returns the name of the Python exception that a library's error stands for. May raise Refused."""
        return type(error).__name__

    def is_interrupt(self, error):
        """Returns true if the library raises this error instead of KeyboardInterrupt."""
        return False

    def result(self, value, wanted):
        """Converts the library's result to Python's. `wanted` is the expected result."""
        return value


def counts(function):
    """Returns the number of arguments of each entry."""
    return [len(entry.python_types()[0]) for entry in typedcall.entries(function)]


def signature_of(entry):
    """Returns the entry's signature for Python callers."""
    arguments, result = entry.python_types()
    return "".join(arguments) + "->" + result
