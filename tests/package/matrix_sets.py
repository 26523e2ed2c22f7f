"""Sets of overloads of all types, and the calls that tell which overload a sink takes and what it passes. Every pair of
codes is a set. Other sets are random, with a seed of their own. matrix_sets_choice.py is the reference."""
import array
import collections
import ctypes
import itertools
import pathlib
import random
import tempfile

import matrix_made_up_sinks
import matrix_sets_choice
import support
import typedcall

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

CODES = "? b B h H i I l L q Q n N f d g Zf Zd Zg O s".split()
BUFFERS = "*s *kB *d *kd".split()
_C_TYPES = dict(zip([*CODES, *BUFFERS], (
    "_Bool", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "unsigned long", "long long",
    "unsigned long long", "ssize_t", "size_t", "float", "double", "long double", "float _Complex", "double _Complex",
    "long double _Complex", "void *", "const char *", "const char *", "const unsigned char *", "double *", "const double *")))
#: The integer types of libraries, by name.
INTS = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "l", "uint64": "L"}
#: The values of each type: those at which a conversion loses something.
VALUES = {
    "bool": (False, True), "float32": (0.5, 2.0**24), "float64": (0.5, 0.1, 1e300, 2.0**53), "longdouble": (0.5, 2.0**53),
    "complex64": (0j, 1 + 2j), "complex128": (0.1 + 0j, 1 + 2j), "clongdouble": (1 + 2j,), "str": ("", "text", "a\0b"),
    "bytes": (b"", b"text"), "doubles": (array.array("d", [0.5, 2.5]),), "const doubles": (memoryview(bytes(16)).cast("d"),),
    "numpy.float32": (0.5, 2.0**24), "numpy.complex64": (0j, 1 + 2j),
    "int128": (0, -1, 2**63 - 1, -2**63, 2**63 + 1, 2**64 - 1, 2**63 + 2**39 + 1, 2**70 + 1, -2**127),
    **{name: sorted({*limits, *(each for each in (0, 1, -1, 100, 2**24 + 1, 2**31, 2**53 + 1, 2**62 + 2**38 + 1, 2**63 + 1)
                                if limits[0] <= each <= limits[1])})
       for name, limits in ((name, matrix_sets_choice.limits(letter)) for name, letter in INTS.items())}}
#: A few values of each type, among them its limits, with which to ask whether a choice depends on the values.
FEW = {name: [each for at, each in enumerate(values) if at in (0, len(values) - 1) or each in (0, 100)]
       for name, values in VALUES.items()}
#: The values of each type on both sides of the limits of all integer types.
ENDS = {name: {value for value in (0, *(limit + more for of in INTS.values() for limit in matrix_sets_choice.limits(of)
                                        for more in (-1, 0, 1))) if min(VALUES[name]) <= value <= max(VALUES[name])}
        if name in INTS or name == "int128" else VALUES[name] for name in VALUES}
_KINDS = {"bool": "bool", "float32": "C float", "float64": "float", "longdouble": "float", "complex64": "C complex",
          "complex128": "complex", "clongdouble": "complex", "str": "str", "bytes": "bytes", "doubles": "doubles", "const doubles": "const doubles", "numpy.float32": "other float",
          "numpy.complex64": "other complex"}
#: The types that a sink can pass.
NUMBERS = frozenset("? b B h H i I l L q Q n N f d".split())
#: Parts of the messages of sinks that have no function for the types of a call.
_REFUSALS = ("depends on the value", "could not be safely coerced", "No function matches", "which JAX cannot call",
             "has nothing in JAX for", "results of several types", "nothing that nopython code can call")
#: The seed of the random sets, and the number of calls for each.
SEED, CALLS = 52, 10
#: Sets with all combinations of these values.
GRIDS = {"iii|ddd": (("bool", True), ("int32", -1), ("int64", 2**53 + 1), ("uint64", 2**63 + 1), ("float64", 0.5)),
         "Lill|biid": (("bool", True), ("int8", 100), ("int64", -2**63), ("uint64", 2**64 - 1), ("float64", 0.5)),
         "f|g": (("float64", 0.1), ("float64", 1e300), ("int64", 2**53 + 1), ("uint64", 2**63 + 2**39 + 1)),
         "g|d": (("float64", 0.1), ("int64", 2**53 + 1), ("uint64", 2**64 - 1), ("bool", True))}


class Library:
    """C functions of these types, (arguments, result). Each stores its number and its arguments."""

    class Record(ctypes.Structure):
        _fields_ = [("which", ctypes.c_int), ("calls", ctypes.c_int), ("arguments", (ctypes.c_char * 32) * 4)]

    def __init__(self, wanted, folder):
        self.numbers = {each: number for number, each in enumerate(dict.fromkeys(wanted))}
        lines = ["#include <string.h>\n#include <sys/types.h>\nstruct { int which, calls; char arguments[4][32]; } record;"]
        for (letters, result), number in self.numbers.items():
            given = ", ".join(f"{_C_TYPES[each]} a{at}{f', ssize_t n{at}' * (each in BUFFERS)}" for at, each in enumerate(letters))
            lines.append(f"{_C_TYPES[result]} f{number}({given}) {{ "
                         f"{_stored(letters)}record.which = {number}; ++record.calls; return 1; }}")
        source, made = pathlib.Path(folder, "sets.c"), pathlib.Path(folder, "sets.so")
        source.write_text("\n".join(lines))
        support.run([*support.compiler("c"), "-O0", "-w", "-shared", "-fPIC", source, "-o", made])
        self.loaded = ctypes.CDLL(str(made))
        self.record = self.Record.in_dll(self.loaded, "record")

    def address(self, each):
        return ctypes.cast(getattr(self.loaded, f"f{self.numbers[each]}"), ctypes.c_void_p)


class Module:
    """Functions of C++ with these overloads, which store their numbers and their arguments like those of a Library."""

    types = {**_C_TYPES, "O": "PyObject *", "?": "bool",
             **{"Z" + each: f"std::complex<{_C_TYPES[each]}>" for each in "fdg"},
             **{each: f"typedcall::span<{_C_TYPES[each][:-2]}>" for each in BUFFERS}}

    def __init__(self, sets, folder):
        self.numbers = {each: number for number, each in enumerate(dict.fromkeys(each for one in sets for each in one.overloads))}
        lines = ['#include "typedcall/provider.h"\n#include <complex>\n#include <cstring>\n'
                 'extern "C" __attribute__((visibility("default"))) struct { int which, calls; char arguments[4][32]; } record = {};']
        for (letters, result), number in self.numbers.items():
            given = ", ".join(f"{self.types[each]} {'s' if each in BUFFERS else 'a'}{at}" for at, each in enumerate(letters))
            parts = "".join(f"auto *a{at} = s{at}.data(); auto n{at} = s{at}.size(); "
                            for at, each in enumerate(letters) if each in BUFFERS)
            lines.append(f"{self.types[result]} f{number}({given}) noexcept {{ {parts}"
                         f"{_stored(letters)}record.which = {number}; ++record.calls; return 1; }}")
        defs = (f"typedcall::def<{', '.join(f'f{self.numbers[each]}' for each in one.overloads)}>(\"set{number}\")"
                for number, one in enumerate(sets))
        lines.append("static typedcall::method_table methods{%s};\nTYPEDCALL_MODULE(sets, \"\", methods);" % ",\n".join(defs))
        source = pathlib.Path(folder, "sets.cc")
        source.write_text("\n".join(lines))
        made = support.compile_module(source, folder, flags=["-O0", "-w"])
        self.module = support.load("sets", made)
        self.record = Library.Record.in_dll(ctypes.CDLL(str(made)), "record")


def _stored(letters):
    """Returns C code that stores the arguments."""
    parts = ("strncpy(record.arguments[{0}], a{0}, 31); " if each == "s" else
             "memcpy(record.arguments[{0}], a{0}, n{0} * sizeof *a{0}); record.arguments[{0}][31] = n{0}; " if each in BUFFERS else
             "memcpy(record.arguments[{0}], &a{0}, sizeof a{0}); " for each in letters)
    return "memset(record.arguments, 0, sizeof record.arguments); " + "".join(part.format(at) for at, part in enumerate(parts))


class Set:
    """Overloads, and the calls for one sink. `overloads` are pairs of arguments and result."""

    def __init__(self, family, overloads, calls):
        self.family, self.overloads, self.calls = family, overloads, calls

    def tagged(self, library, python):
        """Returns a Python function that is tagged with the C functions. Its calls are stored in `python`."""
        def function(*arguments):
            python.append(arguments)
            return 1

        typedcall.tag(function, ["".join(letters) + "->" + result for letters, result in self.overloads],
                      [library.address(each) for each in self.overloads], flags=typedcall.Flags.THREAD_SAFE)
        return function


def _family(prefix, overloads):
    """Names a set by its least usual type."""
    used = {letters for each, _ in overloads for letters in each}
    kinds = (("a buffer", {*BUFFERS}), ("O", {"O"}), ("a complex number", {"Zf", "Zd", "Zg"}), ("a text", {"s"}), ("g", {"g"}), ("f", {"f"}))
    return f"{prefix} with {next((name for name, codes in kinds if codes & used), 'ints, bools and d')}"


def _with_results(letters, is_own):
    """Returns the overloads, with a result of the first argument's type or a long."""
    return [(each, each[0] if is_own and each[0][0] not in "Os*" else "l") for each in letters]


def grids(types):
    """Yields the sets of GRIDS, with a long as result."""
    for name, values in GRIDS.items():
        letters = [tuple(each) for each in name.split("|")]
        values = [each for each in values if each[0] in types]
        yield Set(name, _with_results(letters, False), [*itertools.product(values, repeat=len(letters[0]))])


def pairs(types):
    """Yields every pair of codes, with each value of these types."""
    calls = [((name, value),) for name in types for value in VALUES[name]]
    for is_own, one, other in itertools.product((False, True), CODES, CODES):
        if one != other:
            overloads = _with_results([(one,), (other,)], is_own)
            yield Set(_family("pairs", overloads), overloads, calls)


def drawn(types, count, seed=SEED, codes=CODES):
    """Yields random sets of two, three and four overloads with up to four arguments of these types."""
    numbers = random.Random(seed)
    for _ in range(count):
        places = numbers.choice((1, 2, 2, 3, 3, 4))
        columns = [numbers.sample(codes, numbers.choice((2, 3))) for _ in range(places)]
        wanted = min(numbers.choice((2, 3, 4)), 2**places)
        letters = dict.fromkeys(tuple(map(numbers.choice, columns)) for _ in range(40))
        letters = list(letters)[:wanted]
        overloads = _with_results(letters, numbers.random() < 0.3)
        calls = [_call(numbers, types, numbers.choice(letters)) for _ in range(CALLS)]
        yield Set(_family(f"sets of {places}", overloads), overloads, calls)


def _call(numbers, types, letters):
    """Returns values that mostly suit these parameters."""
    def value(code):
        suited = [name for name in types if matrix_sets_choice.rank(given(name, 0), code) is not None]
        name = numbers.choice(suited if suited and numbers.random() < 0.9 else types)
        return name, numbers.choice(VALUES[name])

    return tuple(map(value, letters))


def given(name, value):
    """Returns a value of a library's type for the reference."""
    return _KINDS.get(name, "int"), value


class Ufunc:
    """Arrays of one element, so that NumPy knows their types."""

    name, library, takes = "ufunc", "numpy", NUMBERS | {"g", "Zf", "Zd", "Zg"}
    types = (*INTS, "bool", "float32", "float64", "longdouble", "complex64", "complex128", "clongdouble")

    def made(self, function):
        import numpy

        ufunc = typedcall.ufunc(function)
        return lambda call: ufunc(*(numpy.array([value], name) for name, value in call))


class DuckDb:
    name, library, takes = "duckdb", "duckdb", NUMBERS | {"s"}
    columns = {"bool": "BOOLEAN", "int8": "TINYINT", "uint8": "UTINYINT", "int16": "SMALLINT", "uint16": "USMALLINT",
               "int32": "INTEGER", "uint32": "UINTEGER", "int64": "BIGINT", "uint64": "UBIGINT", "int128": "HUGEINT",
               "float64": "DOUBLE", "str": "VARCHAR"}
    types = tuple(columns)

    def __init__(self):
        import duckdb

        self.connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 1})
        self.registered = 0

    def made(self, function):
        import typedcall.sql

        self.registered += 1
        own = f"f{self.registered}"
        typedcall.sql.register(self.connection, function, name=own)

        def call(arguments):
            casts = ", ".join(f"CAST(? AS {self.columns[name]})" for name, _ in arguments)
            texts = [value if name == "str" else repr(value) for name, value in arguments]
            self.connection.execute(f"SELECT {own}({casts})", texts).fetchall()

        return call


class Sqlite:
    name, library, types, connection = "sqlite", "apsw", ("int64", "float64", "str"), None
    takes = NUMBERS | {"s"}

    def made(self, function):
        import apsw
        import typedcall.sql

        self.connection = apsw.Connection(":memory:")
        typedcall.sql.register(self.connection, function, name="f")

        def call(arguments):
            marks = ", ".join("?" * len(arguments))
            self.connection.execute(f"SELECT f({marks})", [value for _, value in arguments]).fetchall()

        return call


class TvmFfi:
    name, library, types = "tvm-ffi", "tvm_ffi", ("bool", "int64", "float64", "str", "bytes")
    takes = NUMBERS | {"s", *BUFFERS}

    def made(self, function):
        import typedcall.tvm_ffi

        made = typedcall.tvm_ffi.function(function)
        return lambda call: made(*(value for _, value in call))


class MadeUp(matrix_made_up_sinks.MadeUpValues):
    types = ("bool", "int64", "float64", "str", "bytes", "doubles", "const doubles")
    takes = NUMBERS | {"s", *BUFFERS}

    def __init__(self):
        self.setUp()

    def made(self, function):
        made = super().made(function)
        return lambda call: made(*(value for _, value in call))


class Wrapper:
    """The function that typedcall/provider.h makes. Its C code has no Python function to call."""

    name, library, types = "wrapper", "numpy", ("bool", "int128", "int64", "float64", "complex128", "str", "numpy.float32",
                                                "numpy.complex64", "bytes", "doubles", "const doubles")
    takes = frozenset([*CODES, *BUFFERS])

    def functions(self, sets, folder):
        made = Module(sets, folder)
        return made, [getattr(made.module, f"set{number}") for number in range(len(sets))]

    def made(self, function):
        import numpy

        of_numpy = {"numpy.float32": numpy.float32, "numpy.complex64": numpy.complex64}
        return lambda call: function(*(of_numpy.get(name, lambda same: same)(value) for name, value in call))


#: Sinks that know types before the values, and sinks that have values.
TYPE_SINKS = {sink.name: sink for sink in (Ufunc, DuckDb)}
VALUE_SINKS = {sink.name: sink for sink in (Wrapper, Sqlite, TvmFfi, MadeUp)}


def cells(sink, sets):
    """Yields (set, call, outcome, reason) for each call."""
    python = []
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(sink, Wrapper):
            library, functions = sink.functions(sets, folder)
        else:
            library = Library([each for one in sets for each in one.overloads], folder)
            functions = (one.tagged(library, python) for one in sets)
        for one, function in zip(sets, functions):
            try:
                made = sink.made(function)
            except (TypeError, matrix_made_up_sinks.Refused) as error:
                outcome = "refused wrongly" if any(map(sink.takes.issuperset, map(flat, one.overloads))) else "refused"
                for call in one.calls:
                    yield one, call, outcome, str(error)
                continue
            for call in one.calls:
                python.clear()
                yield one, call, *_outcome(one, call, made, library, python, sink)


def flat(overload):
    return {*overload[0], overload[1]}


def may_refuse(sink, one, call):
    """Returns true if a sink that knows only the types of a call may refuse it: because the types of results differ
    between its values, or because the sink cannot pass the types of an overload that Python takes. NumPy does not make a
    narrower type of a long double."""
    return any(_may_refuse(sink, one, call, values) for values in (FEW, ENDS))


def _may_refuse(sink, one, call, of_types):
    wide = {at for at, (name, _) in enumerate(call) if "longdouble" in name}
    found, results = set(), set()
    for values in itertools.product(*({*of_types[name], value} for name, value in call)):
        at = _wanted(one, [(name, value) for (name, _), value in zip(call, values)])
        found.add(at)
        results.update([one.overloads[at][1]] if isinstance(at, int) else [])
    chosen = [one.overloads[at] for at in found if isinstance(at, int)]
    return len(results) > 1 or any(not flat(each) <= sink.takes or any(each[0][at][-1] != "g" for at in wide) for each in chosen)


def _wanted(one, call):
    return matrix_sets_choice.choose([letters for letters, _ in one.overloads], [given(*each) for each in call])


def _outcome(one, call, made, library, python, sink):
    wanted = _wanted(one, call)
    before, error = library.record.calls, None
    try:
        made(call)
    except Exception as raised:
        error = raised
    if library.record.calls != before:
        which = library.record.which
        found = next(at for at, each in enumerate(one.overloads) if library.numbers[each] == which)
        if found != wanted:
            return "wrong", f"{_name(one, found)}, not {_name(one, wanted)}"
        for at, (each, letters) in enumerate(zip(call, one.overloads[found][0])):
            expected = matrix_sets_choice.passed(given(*each), letters)
            stored = bytes(library.record.arguments[at])
            if letters[-1] == "g":
                stored = b"".join(matrix_sets_choice.unpadded(stored[start:start + 16]) for start in (0, 16))
            if stored[:len(expected)] != expected:
                return "wrong", f"argument {at} of {_name(one, found)} is {stored!r}, not {expected!r}"
        return ("right", "C") if error is None else ("wrong", f"raised {error!r} after {_name(one, found)}")
    if python:
        same = len(python[-1]) == len(call) and all(map(_is_same, python[-1], call))
        return ("right", "Python") if same else ("wrong", f"Python was given {python[-1]!r}")
    if error is None:
        return "wrong", f"nothing was called, not {_name(one, wanted)}"
    is_refusal = sink.name not in VALUE_SINKS and any(each in str(error) for each in _REFUSALS)
    if is_refusal and not isinstance(wanted, str):
        return "refused" if may_refuse(sink, one, call) else "refused wrongly", str(error)
    kind = _kind_of_error(error)
    if isinstance(wanted, str):
        is_right = kind == wanted if isinstance(sink, Wrapper) else kind != "" or is_refusal
        return "right" if is_right else "wrong", f"{kind or repr(error)}, and Python {wanted}"
    return "wrong", f"{error!r}, not {_name(one, wanted)}"


def _is_same(found, call):
    """True if Python was given this value: 1.0 and True are not 1."""
    kind = _KINDS.get(call[0], "int").split()[-1]
    if kind in ("bytes", "doubles"):
        return bytes(memoryview(found)) == bytes(call[1])
    return type(found).__name__ == kind and found == call[1]


def _kind_of_error(error):
    """Returns the name of the exception of a refused call, or "". Libraries may have classes of their own for it, with
    the name in the message."""
    kinds = ("TypeError", "OverflowError", "ValueError")
    if type(error).__name__ in kinds:
        return type(error).__name__
    is_of_library = (type(error) is RuntimeError  # of the made-up runtime
                     or type(error).__module__.split(".")[0] in ("apsw", "_duckdb", "duckdb", "tvm_ffi"))
    return next((kind for kind in kinds if is_of_library and kind in str(error)), "")


def _name(one, at):
    return at if isinstance(at, str) else "".join(one.overloads[at][0]) + "->" + one.overloads[at][1]


def counted(found):
    """Returns the number of wrong cells by family, and the cells that are refused, rightly and wrongly. The number of all
    cells is "of"."""
    wrong = collections.Counter(one.family for one, _, outcome, _ in found if outcome == "wrong")
    refused, wrongly = (sum(outcome == each for _, _, outcome, _ in found) for each in ("refused", "refused wrongly"))
    return {"of": len(found), "refused": refused, "refused wrongly": wrongly, "wrong": dict(sorted(wrong.items()))}
