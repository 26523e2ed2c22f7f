"""The properties of the matrix: what every sink has to do with a typed function as Python does. A property yields cells: an
id, and what the sink did beside what Python does, or why it was not asked."""
import cmath
import ctypes
import enum
import math
import threading

import matrix_choice
import support
from matrix_sinks import Refused
from narrow_support import functions
import typedcall


class Number:
    """An int for who asks by `__index__`."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __repr__(self):
        return f"Number({self.value})"


class Real:
    """A float for who asks by `__float__`."""

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
OTHERS = (True, False, Color.RED, Length(2.5), Number(4), Number(300), Real(4.5), 1j, cmath.rect(1, 2), None, "3", b"3")


def numpy_values():
    """NumPy's scalars, where it is installed."""
    try:
        import numpy
    except ImportError:
        return ()
    return (numpy.int8(5), numpy.int64(300), numpy.uint64(2**63), numpy.float32(1.5), numpy.float64(2.5), numpy.bool_(True),
            numpy.complex128(1j))


class Failure:
    """An exception, by its name."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, Failure) and self.name == other.name

    def __repr__(self):
        return self.name


def is_same(a, b):
    """One result: of one type, nan as itself."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b) or a != a and b != b
    return type(a) is type(b) and a == b


def expected(alone, overloads, arguments):
    """What Python does: of the overload that the rule chooses what its own function does."""
    try:
        at = matrix_choice.choose(overloads, arguments)
    except matrix_choice.NoOverload as error:
        return Failure(error.kind.__name__)
    try:
        return alone[at](*arguments)
    except Exception as error:
        return Failure(type(error).__name__)


def found(sink, made, arguments, wanted):
    try:
        return sink.result(made(*arguments), wanted)
    except Refused:
        raise
    except Exception as error:
        return Failure(sink.kind_of(error))


#: The functions with overloads, and for each overload what alone does the same.
OVERLOADED = {
    "int_or_float": ([["i"], ["d"]], [lambda x: 0, lambda x: 1]),
    "float_or_int": ([["d"], ["i"]], [lambda x: 0, lambda x: 1]),
    "char_or_long": ([["b"], ["l"]], [lambda x: 0, lambda x: 1]),
    "three": ([["L"], ["b"], ["d"]], [lambda x: 0, lambda x: 1, lambda x: 2]),
    "two_floats": ([["f"], ["d"]], [lambda x: 0, lambda x: 1]),
    "two_arguments": ([["b", "b"], ["i", "d"]], [lambda x, y: 0, lambda x, y: 1]),
    "other_results": ([["b"], ["l"]], [functions.same_b, functions.same_l]),
}


def pairs():
    """Arguments of functions of two."""
    few = (0, 1, 127, 128, 2**31, 2.5, True, Number(4))
    return [(a, b) for a in few for b in few]


def choice(sink):
    """Among overloads each value chooses what it chooses in Python: docs/ABI.md, 8.7 to 8.10."""
    values = [(value,) for value in (*INTS, *FLOATS, *OTHERS, *numpy_values())]
    for name, (overloads, alone) in OVERLOADED.items():
        function = getattr(functions, name)
        assert [typedcall.parse_signature(entry.signature)[0] for entry in typedcall.entries(function)] == overloads
        yield from compare(sink, name, function, alone, overloads, pairs() if name == "two_arguments" else values)


def alone(sink, letters, calls):
    """Functions without overloads, by name, with the letters of their arguments: what they give and raise is Python's."""
    for name, each in letters.items():
        function = getattr(functions, name)
        yield from compare(sink, name, function, [function], [list(each)], calls)


def equality(sink):
    """A function gives and raises what it gives and raises in Python."""
    names = {"same_" + {"?": "bool"}.get(letter, letter): letter for letter in "?bBhHiIlLfd"}
    yield from alone(sink, names, [(value,) for value in (*INTS, *FLOATS, *OTHERS, *numpy_values())])
    yield from alone(sink, {"larger_b": "bb", "larger_H": "HH", "larger_L": "LL", "larger_f": "ff"}, pairs())


def raising(sink):
    """What may raise: its exception comes out, and its error value without one is a result."""
    names = {"checked_i": "i", "checked_B": "B", "checked_f": "f", "checked_d": "d"}
    yield from alone(sink, names, [(value,) for value in (13, 13.0, -1, 255, -1.0, 1, 2.5, True, 300)])


def status(sink):
    """A status that is not 0 is an exception, also where none was set; the value is in the place."""
    yield from alone(sink, {"status": "i", "expect": "i"}, [(value,) for value in (13, 14, 0, -7, 2**31, True)])


def falling_back(sink):
    """Where the function has no result, the Python callable gives one, or raises."""
    yield from alone(sink, {"positive_i": "i", "positive_f": "f"},
                     [(value,) for value in (5, -5, 0, 2**31, 2.5, -2.5, True)])


def texts(sink):
    """A str is its UTF-8, with NULs in it where a function takes the length, too; what is no text is a TypeError."""
    values = [(value,) for value in ("", "abc", "h\u00e4tte", "\U0001f600", "a\0b", b"abc", 3, 2.5, None)]
    for module, name, letters in (("buffer_provider", "utf8_length", "*s"), ("typed_functions", "same_text", "s")):
        function = getattr(support.build(module), name)
        yield from compare(sink, name, function, [function], [[letters]], values)


def defaults(sink):
    """Arguments that are left out are Python's defaults."""
    module = support.build("default_functions")
    calls = [(), (1.5,), (1.5, 2), (1.5, 2.5), (4, 3), (-4.0,), (1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]
    for name in ("distance", "digits", "by_position", "below", "status", "root", "area", "all_optional", "plain"):
        function = getattr(module, name)
        yield from compare(sink, name, function, [function], [[]], calls)


def by_position(sink):
    """Who has no names passes all arguments in order; the Python function gets the keyword-only ones by name."""
    if sink.has_names:
        yield "root", "refused", "its calls have names, as Python's have"
        return
    module = support.build("keyword_only_functions")
    yield from compare(sink, "root", module.root, [lambda x, factor: module.root(x, factor=factor)], [["d", "d"]],
                       [(4.0, 3.0), (-4.0, 3.0)])
    yield from compare(sink, "narrow", module.narrow, [lambda x, by: module.narrow(x, by=by)], [["i", "i"]],
                       [(4, 3), (-4, 3), (2**40, 3)])


def holding(sink):
    """What takes the GIL itself is called without it: other threads run meanwhile."""
    def sleeps(microseconds):
        raise AssertionError("the C function is called")

    library = ctypes.CDLL(None)
    typedcall.tag(sleeps, "i->i", ctypes.cast(library.usleep, ctypes.c_void_p).value,
                  flags=typedcall.Flags.ACQUIRES_GIL | typedcall.Flags.THREAD_SAFE)
    try:
        sink.letting_go()
        made = sink.made(sleeps)
        made(1)  # what is compiled is compiled now
    except Refused as error:
        yield "sleeps(100000)", "refused", str(error)
        return
    rounds, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            rounds[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = rounds[0]
    result = sink.result(made(100000), 0)
    during = rounds[0] - before
    done.set()
    other.join()
    yield "sleeps(100000)", "right" if result == 0 and during > 5 else "wrong", f"{during} rounds of another thread"


def compare(sink, name, function, alone, overloads, calls):
    made = reason = None
    try:
        made = sink.made(function)
    except Refused as error:
        reason = str(error)
    for arguments in calls:
        cell = f"{name}{arguments!r}" if len(arguments) != 1 else f"{name}({arguments[0]!r})"
        if made is None:
            yield cell, "refused", reason
            continue
        wanted = expected(alone, overloads, arguments)
        try:
            for value in arguments:
                sink.crossing(value)
            got = found(sink, made, arguments, wanted)
        except Refused as error:
            yield cell, "refused", str(error)
            continue
        if sink.has_typed_results and isinstance(got, float) and type(wanted) is int:
            wanted = float(wanted)
        yield cell, "right" if is_same(got, wanted) else "wrong", f"{got!r}, not {wanted!r}"


PROPERTIES = {property_.__name__: property_ for property_ in (choice, equality, raising, status, falling_back, texts, defaults, by_position, holding)}
