"""The property of the matrix (test_matrix.py) that concerns buffers."""
import array

import support
import typedcall
from matrix_c_types import contents
from matrix_sinks import Refused
from matrix_values import Failure, found, is_same


def doubles(*values):
    return array.array("d", values)


def cast(size, letter, *shape):
    return memoryview(bytearray(size)).cast(letter, *shape)


#: Makers of objects to pass as a buffer. Each call gets a new object, because the function may write to it.
OBJECTS = {
    "no doubles": doubles,
    "doubles": lambda: doubles(3.0, 4.0),
    "large doubles": lambda: doubles(-0.0, 1e300),
    "a hundred doubles": lambda: doubles(*[0.5] * 100),
    **{f"array of {letter}": lambda letter=letter: array.array(letter, [1, 2, 3]) for letter in "bBhHiIlLqQf"},
    **{f"empty array of {letter}": lambda letter=letter: array.array(letter) for letter in "bBhHiIlLqQf"},
    # The hashes of these bytes fit into an int64, which every library supports.
    "bytes": lambda: b"hello",
    "no bytes": lambda: b"",
    "bytearray": lambda: bytearray(b"hello"),
    "view of bytes": lambda: memoryview(b"hello"),
    "view of a bytearray": lambda: memoryview(bytearray(24)),
    "doubles of a bytearray": lambda: cast(24, "d"),
    "read-only doubles": lambda: memoryview(bytes(24)).cast("d"),
    "bools of a bytearray": lambda: cast(4, "?"),
    "bools that are none": lambda: memoryview(bytearray(b"\x03\0\xff\1")).cast("?"),
    "read-only bools that are none": lambda: memoryview(b"\x03\0\xff\1").cast("?"),
    "read-only bools": lambda: memoryview(b"\1\0\1").cast("?"),
    "rows of bools that are none": lambda: memoryview(bytearray(b"\x03\0\xff\1")).cast("?", (2, 2)),
    "chars of a bytearray": lambda: cast(4, "c"),
    "some of the doubles": lambda: memoryview(doubles(1.0, 2.0, 3.0, 4.0))[1:3],
    "none of the doubles": lambda: memoryview(doubles(1.0, 2.0))[:0],
    "every second double": lambda: memoryview(doubles(1.0, 2.0, 3.0, 4.0))[::2],
    "doubles from the end": lambda: memoryview(doubles(1.0, 2.0, 3.0))[::-1],
    "rows of doubles": lambda: cast(32, "d", (2, 2)),
    "doubles at odd addresses": lambda: memoryview(bytearray(17))[1:].cast("d"),
    "a text": lambda: "text",
    "an int": lambda: 1,
    "a float": lambda: 1.5,
    "None": lambda: None,
    "a list": lambda: [1.0, 2.0],
}


def numpy_arrays():
    """Returns makers of NumPy arrays, if NumPy is installed."""
    try:
        import numpy
    except ImportError:
        return {}

    def read_only():
        made = numpy.ones(3)
        made.flags.writeable = False
        return made

    return {
        "numpy: no doubles": lambda: numpy.array([]),
        "numpy: doubles": lambda: numpy.array([3.0, 4.0]),
        **{f"numpy: array of {letter}": lambda letter=letter: numpy.full(3, 12, letter) for letter in "bBhHiIlLqQf?FD"},
        "numpy: bools that are none": lambda: numpy.frombuffer(bytearray(b"\x03\0\xff\1"), "bool"),
        "numpy: read-only doubles": read_only,
        "numpy: swapped doubles": lambda: numpy.ones(3, ">f8"),
        "numpy: every second double": lambda: numpy.ones(6)[::2],
        "numpy: none of the doubles": lambda: numpy.ones(3)[:0],
        "numpy: rows of doubles": lambda: numpy.ones((2, 2)),
        "numpy: one double": lambda: numpy.array(1.5),
        "numpy: doubles at odd addresses": lambda: numpy.zeros(17, "u1")[1:].view("f8"),
        "numpy: a scalar": lambda: numpy.float64(1.5),
    }


#: Second arguments that are numbers. SECOND contains the names of those that are buffers.
NUMBERS = {"2.5": lambda: 2.5, "3": lambda: 3, "2**40": lambda: 2**40, "True": lambda: True, "None": lambda: None}
SECOND = ("doubles", "no doubles", "read-only doubles", "numpy: doubles", "every second double", "None", "bools of a bytearray",
          "bools that are none")
FUNCTIONS = ("count", "count_in_place", "invert", "norm", "dot", "power", "times", "twice", "normalise", "hash", "total",
             "largest", "negate", "mean", "mean_or_status", "mean_or_fall_back")


class NotTaken(Failure):
    """A Failure that equals each of the three exceptions that are raised for an unsuitable buffer."""

    KINDS = {"TypeError", "BufferError", "ValueError"}

    def __init__(self):
        super().__init__("no such buffer")

    def __eq__(self, other):
        return isinstance(other, Failure) and (other.name in self.KINDS or isinstance(other, NotTaken))


def python_does(function, arguments):
    try:
        return function(*arguments)
    except Exception as error:
        if "no mean of nothing" in str(error) or type(error).__name__ not in NotTaken.KINDS:
            return Failure(type(error).__name__)
        return NotTaken()


def calls(letters):
    """Returns the makers of the arguments of each call, keyed by the call's name."""
    objects = {**OBJECTS, **numpy_arrays()}
    if len(letters) == 1:
        return {name: (maker,) for name, maker in objects.items()}
    if letters[1][0] != "*":
        few = [name for name in objects if "doubles" in name or name in ("bytes", "None")]
        return {f"{name}, {number}": (objects[name], maker) for name in few for number, maker in NUMBERS.items()}
    second = [name for name in SECOND if name in objects]
    return {f"{one}, {other}": (objects[one], objects[other])
            for one in objects for other in second if one in second or other == "doubles"}


def buffers(sink):
    """Buffers are passed without a copy. Results, written bytes and errors are the same as in Python."""
    provider, bools = support.build("buffer_provider"), support.build("bool_functions")
    for name in FUNCTIONS:
        function = getattr(provider, name, None) or getattr(bools, name)
        letters = typedcall.entries(function)[0].python_types()[0]
        made = reason = None
        try:
            made = sink.made(function)
        except Refused as error:
            reason = str(error)
        for given, makers in calls(letters).items():
            cell = f"{name}({given})"
            if made is None:
                yield cell, "refused", reason
                continue
            first, second = [maker() for maker in makers], [maker() for maker in makers]
            wanted = python_does(function, first)
            try:
                for value, each in zip(second, letters):
                    if each[0] == "*":
                        sink.passing(value, each)
                    else:
                        sink.crossing(value)
                got = found(sink, made, second, wanted)
            except Refused as error:
                yield cell, "refused", str(error)
                continue
            after = [contents(value) for value in first], [contents(value) for value in second]
            is_right = (wanted == got if isinstance(wanted, Failure) else is_same(got, wanted)) and after[0] == after[1]
            yield cell, "right" if is_right else "wrong", f"{got!r}, not {wanted!r}; written: {after[0] != after[1]}"
