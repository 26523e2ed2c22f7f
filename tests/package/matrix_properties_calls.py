"""The matrix's properties of single calls."""
import itertools
import math

import matrix_tagged
import support
from matrix_choice import LIMITS
from matrix_sinks import Refused
from matrix_values import (
    FLOATS, INTS, OTHERS, ROUNDED, Names, Number, compare, numpy_limits, numpy_narrow, numpy_values, shown)
from narrow_support import functions
import typedcall

#: Maps each overloaded function to the parameters of its overloads, and to Python functions that do the same.
OVERLOADED = {
    "int_or_float": ([["i"], ["d"]], [lambda x: 0, lambda x: 1]),
    "float_or_int": ([["d"], ["i"]], [lambda x: 0, lambda x: 1]),
    "char_or_long": ([["b"], ["l"]], [lambda x: 0, lambda x: 1]),
    "three": ([["L"], ["b"], ["d"]], [lambda x: 0, lambda x: 1, lambda x: 2]),
    "two_floats": ([["f"], ["d"]], [lambda x: 0, lambda x: 1]),
    "two_arguments": ([["b", "b"], ["i", "d"]], [lambda x, y: 0, lambda x, y: 1]),
    "two_widths": ([["d", "h"], ["B", "B"]], [lambda x, y: 0, lambda x, y: 1]),
    "two_counts": ([["?"], ["?", "?"]], [lambda x: 0, lambda x, y: 1]),
    "other_results": ([["b"], ["l"]], [functions.same_b, functions.same_l]),
}


def pairs():
    """Returns pairs of numbers."""
    few = (0, 1, 127, 128, 2**31, 2.5, True, Number(4))
    return [(a, b) for a in few for b in few]


def choice(sink):
    """Each value chooses the overload that docs/ABI.md, 8.7 to 8.10, prescribes."""
    calls = {1: [(value,) for value in (*INTS, *FLOATS, *OTHERS, *numpy_values(), *numpy_limits())],
             2: [*pairs(), *itertools.product(numpy_values()[:2] + numpy_narrow(), repeat=2)]}
    for name, (overloads, alone) in OVERLOADED.items():
        function = getattr(functions, name)
        assert [typedcall.parse_signature(entry.signature)[0] for entry in typedcall.entries(function)] == overloads
        asked = [call for count in sorted({len(each) for each in overloads}) for call in calls[count]]
        yield from compare(sink, name, function, alone, overloads, asked)


def alone(sink, letters, calls, module=functions):
    """Compares a sink's calls with Python's, for functions without overloads. `letters` maps each function to its
    parameters."""
    for name, each in letters.items():
        function = getattr(module, name)
        yield from compare(sink, name, function, [function], [list(each)], calls)


def edges(letter):
    """Returns values at and beyond an integer type's limits, or floats that are rounded."""
    if letter == "?":
        return []
    least, most = LIMITS.get(letter, (0, 0))
    made = [value for value in (least - 1, least, most, most + 1) if value not in INTS] if least < most else ROUNDED
    return [(value,) for value in (*made, *numpy_limits())]


def equality(sink):
    """A function returns the same results and raises the same exceptions as in Python."""
    values = [(value,) for value in (*INTS, *FLOATS, *OTHERS, *numpy_values())]
    for letter in "?bBhHiIlLfd":
        yield from alone(sink, {"same_" + {"?": "bool"}.get(letter, letter): letter}, values + edges(letter))
    yield from alone(sink, {"nothing": "b"}, [(value,) for value in (0, 127, 128, -129, 2.5)])
    yield from alone(sink, {"times": "fhB"},
                     [(1.5, 3, 7), (0.1, -2**15, 255), (1, 2**15, 3), (1.0, 3, -1), (True, False, True)])
    yield from alone(sink, {"larger_b": "bb", "larger_H": "HH", "larger_L": "LL", "larger_f": "ff"}, pairs())


def raising(sink):
    """A call raises the function's exception. If no exception is set, the error value is an ordinary result."""
    names = {"checked_i": "i", "checked_B": "B", "checked_f": "f", "checked_d": "d"}
    yield from alone(sink, names, [(value,) for value in (13, 13.0, -1, 255, -1.0, 1, 2.5, True, 300, "3", None, 1j)])


def status(sink):
    """A nonzero status becomes an exception, even if no exception is set."""
    yield from alone(sink, {"status": "i", "expect": "i"}, [(value,) for value in (13, 14, 0, -7, 2**31, True, "3", None, 1j)])


#: Functions of modules/fallback_functions.cc, and their arguments.
FALLING = {
    "root": ("d", [4.0, 0, math.inf, -1.0, -math.inf, "x"]), "half": ("d", [3.0, 2, -1.0, None]),
    "c_root": ("d", [4.0, -1.0]), "tenfold": ("d", [4.0, -2.0, -0.1, -1001.0]), "half_alone": ("d", [1.0, -2.0]),
    "both": ("", [2, 2.0, -1, -1.0]),
    "square": ("l", [3, 2**31, 2**70, 2.0]), "is_even": ("l", [2, 3, -1]), "narrow": ("f", [3.0, -1.0]),
}


def falling_back(sink):
    """If the C function falls back, the Python callable is called."""
    yield from alone(sink, {"positive_i": "i", "positive_f": "f"},
                     [(value,) for value in (5, -5, 0, 2**31, 2.5, -2.5, True, "3", None, 1j)])
    module = support.build("fallback_functions")
    for name, (letters, values) in FALLING.items():
        yield from alone(sink, {name: letters}, [(value,) for value in values], module)
    yield from alone(sink, {"gcd": "ii"}, [(12, 18), (7, 0), (-1, 1), (2**40, 1), (1.5, 1)], module)
    typed = in_c if sink.has_typed_results and not sink.falls_back_there else lambda function, convert: function
    large = [(2**32, 2**64), (-2**40, 2**80)]
    yield from giving(sink, "square of", module.square, typed(module.square, c_long), large)
    for result in (3, -2**63, 2.5, True, None, "t\u00e4xt", "a\0b", b"bytes", b"", [], 10**400):
        matrix_tagged.results[:] = [result]
        yield from giving(sink, "given", matrix_tagged.given, typed(matrix_tagged.given, float), [(-4.0, result)])


def giving(sink, name, function, wanted, results):
    """Compares calls in which the Python callable returns these results. `results` contains pairs of an argument and a
    result."""
    for argument, result in results:
        try:
            sink.giving(result)
            found = compare(sink, name, function, [wanted], [[""]], [(argument,)])
        except Refused as error:
            found = [("", "refused", str(error))]
        for _, outcome, what in found:
            yield f"{name}({shown(result)})", outcome, what


def in_c(function, convert):
    """Returns a function that converts the result of `function` to a C type."""
    def given(x):
        result = function(x)
        if not isinstance(result, (int, float)):
            raise TypeError
        return convert(result)

    return given


def c_long(value):
    if not LIMITS["l"][0] <= value <= LIMITS["l"][1]:
        raise OverflowError
    return value


def native(sink):
    """Each call calls the C function exactly once."""
    for module, name, arguments in (
            (functions, "same_b", (5,)), (functions, "same_L", (5,)), (functions, "same_f", (1.5,)),
            (functions, "same_d", (1.5,)),
            (functions, "nothing", (5,)), (functions, "positive_i", (5,)), (functions, "checked_i", (5,)),
            (functions, "status", (5,)), (support.build("fallback_functions"), "root", (4.0,)),
            (support.build("default_functions"), "distance", (1.0, 2.0, 3.0, 4.0, 5.0)),
            (support.build("keyword_only_functions"), "narrow", (4, 3))):
        function = getattr(module, name)
        try:
            made = sink.made(function)
            if sink.has_names and name == "narrow":
                made = lambda x, by, made=made: made(x, by=by)
            sink.result(made(*arguments), function)
            before = module.calls()
            sink.result(made(*arguments), function)
            count = module.calls() - before
        except Refused as error:
            yield name, "refused", str(error)
        except Exception as error:
            yield name, "wrong", repr(error)
        else:
            yield name, "right" if count == 1 else "wrong", f"called {count} times"


def texts(sink):
    """A str is passed as UTF-8. It may contain NULs only if the function also takes a length."""
    # Some libraries store texts of up to 7 or 12 bytes differently.
    values = [(value,) for value in ("", "abc", "seven77", "eight888", "h\u00e4tte", "\U0001f600",
                                     "h\u00e4, \u20ac, \U0001f40d" * 20, "a\0b", "a\0" + "long" * 10, b"abc", 3, 2.5, None)]
    for module, name, letters in (("buffer_provider", "utf8_length", "*s"), ("typed_functions", "same_text", "s")):
        function = getattr(support.build(module), name)
        yield from compare(sink, name, function, [function], [[letters]], values)


#: The names of each function's parameters, and lists of values for them.
NAMES = {
    "default_functions": {
        "distance": ("a b c d radius", [2.5, 4.0, -1.0, 0.5, True]), "digits": ("a b c", [1, 5, 8], [2**31, 5, -2**31 - 1]),
        "mixed": ("x n flag z", [2.5, 3, False, 1.5], [2.5, 2**15, True, 1.5], [2.5, 3, 5, 1.5]),
        "by_position": ("x y", [2.5, 4.0]), "half_by_position": ("x y z", [2.5, 4.0, -1.0]), "below": ("x limit", [2.5, 4.0], [11.0, 1.0]),
        "status": ("x y", [13, 4], [4, 13]), "root": ("x factor", [2.5, 4.0], [-4.0, 3.0]),
        "area": ("width height", [3, 4], [3, 4.0], [2**40, 1]), "all_optional": ("x y", [2.5, 4.0]),
        "single": ("x by", [2.5, 4.0]), "plain": ("arg0 arg1", [2.5, 4.0])},
    "keyword_only_functions": {
        "last": ("a b c", [1.0, 5.0, 6.0]), "all_three": ("a b c", [1.0, 5.0, 6.0]), "behind": ("a b c", [1.0, 5.0, 6.0]),
        "between": ("a b c", [1.0, 5.0, 6.0]), "root": ("x factor", [4.0, 3.0], [-4.0, 3.0]),
        "area": ("width height", [3, 4], [3, 4.0]), "narrow": ("x by", [4, 3], [2**40, 3])},
    "matrix_tagged": {
        "by_name_only": ("x y z", [2.5, 4.0, -1.0]), "tagged_with_parameters": ("x y z", [2.5, 4.0, -1.0]),
        "tagged_with_defaults": ("x y z", [2.5, 4.0, -1.0]), "tagged_with_numpy": ("x y z", [2.5, 4.0, -1.0])},
}


def calls_by_name(names, *values):
    """Returns the arguments of calls that pass some of these values by position and some by name. Some calls fit no
    function."""
    names, made = names.split(), []
    for each in values:
        for count in range(len(names) + 1):
            rest = list(zip(names, each))[count:]
            for size in {0, 1, len(rest) - 1, len(rest)} - {-1}:
                made += [(*each[:count], Names(reversed(chosen))) for chosen in itertools.combinations(rest, size)]
    made += [(*each, 1.5), (*each, Names({names[0]: 1.5})), (*each, Names(unknown=1.5))]
    made = [call if call[-1] else call[:-1] for call in made]
    return {repr(call): call for call in made}.values()


def defaults(sink):
    """Omitted arguments have Python's defaults. Names, if the sink supports them, mean the same as in Python."""
    if sink.has_names:
        for module, given_names in NAMES.items():
            for name, given in given_names.items():
                function = getattr(matrix_tagged if module == "matrix_tagged" else support.build(module), name)
                label = name if module != "keyword_only_functions" else "keyword-only " + name
                yield from compare(sink, label, function, [function], [[]], calls_by_name(*given))
    module = support.build("default_functions")
    calls = [(), (1.5,), (1.5, 2), (1.5, 2.5), (4, 3), (-4.0,), (1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
             (2.5, 3, 5, 1.5), (2.5, 3, 0.0)]
    for name in ("distance", "digits", "mixed", "by_position", "below", "status", "root", "area", "all_optional", "plain"):
        function = getattr(module, name)
        yield from compare(sink, name, function, [function], [[]], calls)


def by_position(sink):
    """A sink without names passes keyword-only arguments by position."""
    if sink.has_names:
        yield "root", "refused", "its calls accept names, like Python's"
        return
    module = support.build("keyword_only_functions")
    yield from compare(sink, "root", module.root, [lambda x, factor: module.root(x, factor=factor)], [["d", "d"]],
                       [(4.0, 3.0), (-4.0, 3.0)])
    yield from compare(sink, "narrow", module.narrow, [lambda x, by: module.narrow(x, by=by)], [["i", "i"]],
                       [(4, 3), (-4, 3), (2**40, 3)])
