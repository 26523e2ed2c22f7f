"""Values for the matrix, and the comparison of a sink's calls with Python's calls."""
import cmath
import enum
import math

import matrix_choice
import matrix_limits
from matrix_sinks import Refused, RefusedByValue, RefusedResult


class Number:
    """An object with an `__index__` method."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __repr__(self):
        return f"Number({self.value})"


class Real:
    """An object with a `__float__` method."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value

    def __repr__(self):
        return f"Real({self.value})"


class Color(enum.IntEnum):
    RED = 3


class Length(float):
    def __repr__(self):
        return f"Length({float(self)})"


INTS = (0, 1, -1, 13, 127, 128, 255, 256, -129, 2**15, 2**31 - 1, 2**31, -2**31 - 1, 2**53 + 1, 2**63 - 1, -2**63, 2**63,
        2**64)
FLOATS = (0.0, -0.0, 1.5, -2.5, 3.0, 1e300, math.inf, 0.1)
OTHERS = (True, False, Color.RED, Length(2.5), Number(4), Number(300), Real(4.5), 1j, cmath.rect(1, 2), None, "3", b"3", (),
          ...)
#: Values that float and double round, or cannot represent.
ROUNDED = (16777217, 2**62 + 2**38 + 1, 2**63 + 2**39 + 1, 16777217.0, 1 + 2**-24 + 2**-53, 5e-324, -1e300, -math.inf, math.nan,
           10**30, 10**400)


def numpy_values():
    """Returns NumPy scalars, if NumPy is installed."""
    try:
        import numpy
    except ImportError:
        return ()
    return (numpy.int8(5), numpy.int64(300), numpy.uint64(2**63), numpy.float32(1.5), numpy.float64(2.5), numpy.bool_(True),
            numpy.complex128(1j))


def numpy_narrow():
    """Returns scalars of types that no overload has."""
    try:
        import numpy
    except ImportError:
        return ()
    return (numpy.uint8(200), numpy.int16(300), numpy.uint32(2**31), numpy.bool_(True))


def numpy_limits():
    """Returns the limits of NumPy's integer types, and a value that becomes a different float if it is converted to a
    double first."""
    try:
        import numpy
    except ImportError:
        return ()
    limits = [numpy.dtype(letter).type(limit) for letter in "bBhHiIlL" for limit in matrix_choice.LIMITS[letter] if limit]
    return (*limits, numpy.uint64(2**63 + 2**39 + 1))


class Names(dict):
    """The arguments that a call passes by name."""

    def __repr__(self):
        return ", ".join(f"{name}={value!r}" for name, value in self.items())


class Failure:
    """An exception, represented by its name."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, Failure) and self.name == other.name

    def __repr__(self):
        return self.name


def is_same(a, b):
    """Returns true if both results have the same type and value. nan equals nan."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b) or a != a and b != b
    return type(a) is type(b) and a == b


def expected(alone, overloads, arguments, names):
    """Returns the result or the Failure of the overload that matrix_choice.py chooses."""
    try:
        at = matrix_choice.choose(overloads, arguments)
    except matrix_choice.NoOverload as error:
        return Failure(error.kind.__name__)
    try:
        return alone[at](*arguments, **names)
    except Exception as error:
        return Failure(type(error).__name__)


def found(sink, made, arguments, wanted, names={}):
    try:
        return sink.result(made(*arguments, **names), wanted)
    except Refused:
        raise
    except Exception as error:
        return Failure(sink.kind_of(error))


def shown(value):
    """Returns the value as part of a cell's name."""
    text = repr(value)
    return text if len(text) < 80 else f"a large {type(value).__name__}"


def can_give(sink, result):
    """Returns true if the library can represent the result of a call."""
    try:
        sink.giving(result)
    except Refused:
        return False
    return not isinstance(result, Failure)


def compare(sink, name, function, alone, overloads, calls):
    """Yields a cell for each call. A call is a tuple of arguments, and its last item may be Names."""
    made = reason = None
    try:
        made = sink.made(function)
    except Refused as error:
        reason = str(error)
    for arguments in calls:
        cell = f"{name}({', '.join(map(shown, arguments))})"
        names = arguments[-1] if arguments and isinstance(arguments[-1], Names) else {}
        arguments = arguments[:-1] if names else arguments
        if made is None:
            yield cell, "refused", reason
            continue
        limit = matrix_limits.why_not(sink, "calls", cell)
        if limit:
            yield cell, "limit", limit
            continue
        wanted = expected(alone, overloads, arguments, names)
        try:
            for value in (*arguments, *names.values()):
                sink.crossing(value)
            got = found(sink, made, arguments, wanted, names)
        except RefusedByValue as error:
            yield cell, "by value", str(error)
            continue
        except RefusedResult as error:
            yield cell, "wrong" if can_give(sink, wanted) else "refused", str(error)
            continue
        except Refused as error:
            yield cell, "refused", str(error)
            continue
        if sink.has_typed_results and isinstance(got, float) and isinstance(wanted, int):
            wanted = float(wanted)
        yield cell, "right" if is_same(got, wanted) else "wrong", f"{got!r}, not {wanted!r}"
