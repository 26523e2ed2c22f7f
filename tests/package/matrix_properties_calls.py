"""Properties of single calls: the overload that values choose, results, exceptions, texts and arguments that are left out."""
import support
from matrix_values import FLOATS, INTS, OTHERS, Number, compare, numpy_values
from narrow_support import functions
import typedcall

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
    """Returns pairs of arguments."""
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
    """Compares functions without overloads with Python. `letters` has their arguments, by name."""
    for name, each in letters.items():
        function = getattr(functions, name)
        yield from compare(sink, name, function, [function], [list(each)], calls)


def equality(sink):
    """A function gives and raises what it gives and raises in Python."""
    names = {"same_" + {"?": "bool"}.get(letter, letter): letter for letter in "?bBhHiIlLfd"}
    yield from alone(sink, names, [(value,) for value in (*INTS, *FLOATS, *OTHERS, *numpy_values())])
    yield from alone(sink, {"larger_b": "bb", "larger_H": "HH", "larger_L": "LL", "larger_f": "ff"}, pairs())


def raising(sink):
    """An exception comes out of the call. The error value without an exception is a result."""
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
    """A str is its UTF-8, with NULs in it where a function takes the length, too; another value is a TypeError."""
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
    """A sink without names passes all arguments in order; the Python function gets the keyword-only ones by name."""
    if sink.has_names:
        yield "root", "refused", "its calls have names, as Python's have"
        return
    module = support.build("keyword_only_functions")
    yield from compare(sink, "root", module.root, [lambda x, factor: module.root(x, factor=factor)], [["d", "d"]],
                       [(4.0, 3.0), (-4.0, 3.0)])
    yield from compare(sink, "narrow", module.narrow, [lambda x, by: module.narrow(x, by=by)], [["i", "i"]],
                       [(4, 3), (-4, 3), (2**40, 3)])
