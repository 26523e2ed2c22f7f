"""The arguments of records, and what a call must leave of them."""
import array
import sys


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Sized(Index):
    def __len__(self):
        return 1


class Float:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        if self.value is None:
            raise ZeroDivisionError("no value")
        return self.value


class Complex:
    def __init__(self, value):
        self.value = value

    def __complex__(self):
        return self.value


class Thing:
    """An argument whose references are counted."""


class Holder:
    """A class with a method in Python."""

    def method(self, *arguments):
        return sum(arguments) + 1000


def array_of(given):
    made = array.array(given["array"], given["values"])
    if given.get("kind") == "read-only":
        return memoryview(made).toreadonly()
    if given.get("kind") == "misaligned":
        memory = bytearray(b"\0" + made.tobytes())
        return memoryview(memory)[1:].cast("B").cast(given["array"])
    return memoryview(made)[::2] if given.get("kind") == "with gaps" else made


def numpy_value(given):
    try:
        import numpy
    except ImportError:
        raise NotImplementedError("NumPy is not installed") from None
    value = given.get("value")
    return getattr(numpy, given["numpy"])(complex(*value) if isinstance(value, list) else value)


#: How an argument that JSON cannot express is made, by its first key.
MAKERS = {
    "array": array_of,
    "numpy": numpy_value,
    "object": lambda given: Thing(),
    "index": lambda given: (Sized if given.get("sized") else Index)(given["index"]),
    "float": lambda given: Float(given["float"]),
    "complex": lambda given: complex(*given["complex"]),
    "complex-like": lambda given: Complex(complex(*given["complex-like"])),
    "power": lambda given: 10 ** given["power"],
    "subclass-of-complex": lambda given: type("Subclass", (complex,), {})(*given["subclass-of-complex"]),
    "subclass": lambda given: type("Subclass", (type(given["subclass"]),), {})(given["subclass"]),
}


def arguments_of(record):
    """Converts the arguments from JSON. A dict is a value that JSON cannot express; {"same": i} is the argument at i."""
    made = []
    for given in record["arguments"]:
        is_made = isinstance(given, dict)
        made.append(given if not is_made else made[given["same"]] if "same" in given else
                    MAKERS[next(iter(given))](given))
    return tuple(made)


def references(arguments):
    """Returns the counts of references to arguments, where Python has them."""
    count = getattr(sys, "getrefcount", lambda argument: 0)
    return [count(argument) for argument in arguments if isinstance(argument, Thing)]


def are_released(arguments):
    """Returns True if no buffer of an array is in use."""
    try:
        for argument in arguments:
            if isinstance(argument, array.array):
                argument.append(0)
                argument.pop()
    except BufferError:
        return False
    return True


def self_of(record, unbound):
    """Returns the self that the caller of an unbound method passes."""
    owner = unbound.__objclass__
    made = {"instance": lambda: owner(), "of a subclass": lambda: type("Below", (owner,), {})(), "class": lambda: owner,
            "subclass": lambda: type("Below", (owner,), {}), "another": lambda: Thing(), "another class": lambda: Thing,
            "number": lambda: 3}
    return made[record["self"]]()


def is_right(record, got, arguments):
    """Returns True if this is the result of the record, and the arguments are as the function leaves them."""
    expected = record.get("gives")
    if "leaves" in record and list(arguments[0]) != record["leaves"]:
        return False
    if isinstance(expected, dict):
        return got is arguments[expected["argument"]]
    return "gives" in record and type(got) is type(expected) and repr(got) == repr(expected)
