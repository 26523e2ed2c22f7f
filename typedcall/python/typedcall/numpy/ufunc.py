"""Makes NumPy ufuncs from typed functions. The loops call the C function directly."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from types import ModuleType
from typing import Any, NamedTuple

from typedcall.calling.choose import extension_of, is_alone, offered, rows_to_rank, usable
from typedcall.calling.pickles import ask_again
from typedcall.numpy.gufuncs import (
    MOST_WIDE_LOOPS,
    TRUTHS,
    Core,
    RowLoop,
    core_of,
    read_core,
    row_loops,
    why_no_rows,
)
from typedcall.numpy.loop_order import in_order
from typedcall.numpy.pickles import pickle_by_origin, show_loops
from typedcall.record.choice import Kind, Overloads, rank_of_kind
from typedcall.record.codes import CODES, describe, is_place, kind_of, pointee, range_of
from typedcall.record.records import Entry, has_buffers
from typedcall.sources.numpy_ import dtype_of
from typedcall.tools.foreign import few, import_path, name_of, text_attribute, type_name
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import by_position

__all__ = ["dtype_of", "ufunc"]

# Ufuncs, by the id of their function and by `signature`; protected by the lock. A ufunc's `__name__` is its path below
# typedcall.ufuncs.
_keeping = RenewedLock()
_made: dict[tuple[int, str | None], tuple[Any, _Loops, Any]] = {}
# For functions with more overloads than these, only so many are looked at for each loop. At run time, Python chooses
# among so many if the best does not fit (typedcall/calling/choose.h).
_MANY, _MOST_STEPS = 64, 4


def _arrays(entry: Entry) -> list[str]:
    """Returns the codes of the elements of each array, the output last."""
    arguments, result = entry.python_types()
    return [] if result == "v" or not arguments else arguments + [result]


def _has_dtype(letters: str) -> bool:
    try:
        dtype_of(letters)
    except ValueError:
        return False
    return True


def _written_to(arguments: list[str], result: str) -> str:
    """Suggests alternatives to a function that takes pointers to numbers."""
    places = [each for each in arguments if is_place(each)]
    pointed = [each for each in arguments if kind_of(each) == "pointer"]
    results = [] if result == "v" else [result]
    if not pointed or not all([_has_dtype(pointee(each)) for each in arguments + results]):
        return ""
    if len(pointed) > len(places):
        return _lengthless(arguments, result) if places or results else ""
    read = [each for each in arguments if each not in places]
    rows = "".join("*k" + pointee(each) for each in read) + "".join("*" + pointee(each) for each in places)
    core = ",".join(["(n)"] * len(read)) + "->" + ",".join(["(n)"] * len(places))
    return (f"writes to {few(places)}, and a ufunc has one result: offer a C function for each, "
            f"'{''.join(read)}->{pointee(places[0])}', or one of rows, '{rows}->v', for signature='{core}'")


def _lengthless(arguments: list[str], result: str) -> str:
    """Suggests rows to a function that reads arrays through pointers. An int behind a pointer may be its length."""
    pointed = [each for each in arguments if kind_of(each) == "pointer"]
    lengths = {at for at, letters in enumerate(arguments)
               if at and arguments[at - 1] in pointed and kind_of(letters) in ("signed", "unsigned")}
    rows = [letters.replace("&", "*") for at, letters in enumerate(arguments) if at not in lengths]
    outputs = [letters for letters in rows if letters[0] == "*" and letters[1] != "k"]
    core = ",".join(["(n)" if letters[0] == "*" else "()" for letters in rows if letters not in outputs])
    outs = ",".join(["(n)"] * len(outputs) + ["()"] * (result != "v"))
    left = "".join([arguments[at] for at in sorted(lengths)])
    which = f", if '{left}' {'is their length' if len(lengths) == 1 else 'are their lengths'}" if lengths else ""
    return (f"takes {few(pointed)}, and NumPy does not know the lengths of these arrays: offer a C function with a "
            f"Py_ssize_t of its own behind each pointer, '{''.join(rows)}->{result}'{which}, for "
            f"signature='{core}->{outs}'")


def _no_numbers(entry: Entry) -> str:
    written_to = _written_to(*entry.python_types())
    if written_to:
        return written_to
    letters = _arrays(entry)
    if not letters:
        return "has no arguments or no result"
    return "" if all(map(_has_dtype, letters)) else "has types other than numbers"


class _Loop(NamedTuple):
    """One loop of a ufunc."""

    #: The entry that values of the arrays' types prefer.
    entry: Entry
    #: The types of the arrays, the output last. They may differ from the entry's types.
    letters: tuple[str, ...]
    #: True if the loop converts elements, or chooses an overload for each.
    converts: bool = False

    @property
    def inputs(self) -> tuple[Any, ...]:
        return tuple(dtype_of(letters) for letters in self.letters[:-1])


class _Loops(NamedTuple):
    """All loops of a ufunc, in NumPy's order."""

    loops: list[_Loop] | list[RowLoop]
    #: The rows from rows_to_rank(), and the entries that NumPy can call, for the loops that convert.
    among: tuple[tuple[str, int, int], ...] = ()
    called: tuple[Entry, ...] = ()

    def rows(self, function: Any) -> tuple[tuple[Any, ...], ...]:
        """Returns the loops as tuples for make_ufunc()."""
        kept = tuple([each.keep_alive for each in self.called])

        def row(loop: _Loop | RowLoop) -> tuple[Any, ...]:
            entry = loop.entry
            if isinstance(loop, RowLoop):
                return loop.row(function)
            if not loop.converts:
                return entry.signature, int(entry.flags), entry.address, entry.keep_alive, function
            asked = f"{''.join(loop.letters[:-1])}->{loop.letters[-1]}"
            return entry.signature, int(entry.flags), entry.address, kept, function, asked, self.among

        return tuple([row(loop) for loop in self.loops])


def _kind(letters: str) -> Kind:
    """Returns the kind of Python value for an array's elements."""
    kind = kind_of(letters)
    if kind in ("signed", "unsigned"):
        return Kind("INT", range_of(letters))
    if kind == "bool":
        return Kind("BOOL", (0, 1))
    names = {"f": "C_FLOAT", "d": "FLOAT", "g": "FLOAT", "Zf": "C_COMPLEX"}
    return Kind(names.get(letters, "COMPLEX"))


def _leads_to(given: str, wanted: str) -> bool:
    """True if the loop converts `given` to `wanted`. NumPy itself casts complex numbers and long doubles. An element is
    never a buffer or a pointer."""
    return given == wanted or wanted in CODES and (
        kind_of(wanted) == "bool" and given in TRUTHS
        or max(CODES[given].size, CODES[wanted].size) <= 8 and "complex" not in (kind_of(given), kind_of(wanted)))


def _wide_types(entries: list[Entry], takes_truth: bool) -> list[tuple[str, ...]]:
    """Returns the array types for values from Python: 64-bit ints and doubles. NumPy casts an int to a double for a
    floating parameter, and a bool to an int. If there are several overloads, ints and bools have their own loops,
    because a cast could choose another overload."""
    made: dict[tuple[str, ...], None] = {}
    for entry in entries:
        options = []
        *arguments, _ = _arrays(entry)
        for letters in arguments:
            kind = kind_of(letters) if CODES[letters].size <= 8 else ""
            is_beside = len(entries) > 1 and len(arguments) > 1
            bools = ["?"] if is_beside else []
            ints = ["l", "L"] if is_beside or len(entries) > 1 and CODES[letters].size < 8 else []
            truths = TRUTHS if takes_truth else [letters]
            options.append({"signed": ["l", "L", *bools], "unsigned": ["L", "l", *bools],
                            "floating": ["d", *ints, *bools], "bool": truths}.get(kind, [letters]))
        if math.prod(map(len, options)) <= MOST_WIDE_LOOPS:
            made.update(dict.fromkeys(itertools.product(*options)))
        else:
            made.update(dict.fromkeys(tuple(each[i % len(each)] for each in options)
                                      for i in range(3)))
    return list(made)


def _wide_result(entry: Entry) -> str:
    """Returns the code of NumPy's type for a number that is a result in Python."""
    letters = _arrays(entry)[-1]
    kind, size = kind_of(letters), CODES[letters].size
    if kind in ("signed", "unsigned"):
        return letters if size == 8 else "l"
    return "d" if kind == "floating" and size < 8 else letters


def _result(candidates: list[Entry], own: _Loop | None) -> str:
    """Returns the type of the result array if any of these entries may be called. This is the type of the loop's own
    entry, or NumPy's type for a Python result if another entry has a wider result. The loop itself detects results
    that do not fit."""
    wide = [_wide_result(each) for each in candidates]
    made = "l" if set(wide) == {"l", "L"} else wide[0]
    if own is None:
        return made
    mine, sizes = own.letters[-1], [CODES[_arrays(each)[-1]].size for each in candidates]
    kinds = {kind_of(mine), kind_of(made)}
    is_right = len(kinds) == 1 or kinds == {"signed", "unsigned"}
    return mine if is_right and CODES[mine].size >= max(sizes) else made


def _all_loops(found: list[Entry], own_loops: list[_Loop], takes_truth: bool) -> _Loops:
    """Returns loops over the overloads' types and over wider types. Each loop has the overload that Python chooses for
    such values. If the choice depends on values or an int may not fit, the loop checks each element. `found` contains
    all overloads, and `own_loops` the loops that NumPy can call."""
    entries = [loop.entry for loop in own_loops]
    among = rows_to_rank(found, [entry for entry in entries if CODES[_arrays(entry)[-1]].size <= 8])

    def rank_of(given: str, letters: str) -> int | None:
        return rank_of_kind(takes_truth, _kind(given), letters) if _leads_to(given, letters) else None

    overloads = Overloads([describe(*row[:2])[0] for row in among], rank_of)
    by_row = {entry.signature: entry for entry in reversed(entries)}
    most = None if len(among) <= _MANY else _MOST_STEPS
    # An entry with each type of result, and the type of each overload that NumPy can call.
    of_results = {_arrays(entry)[-1]: entry for entry in entries}
    results = [_arrays(by_row[row[0]])[-1] if row[0] in by_row else "" for row in among]
    loops: list[_Loop] = []
    own: dict[tuple[str, ...], _Loop] = {}
    for loop in own_loops:
        own.setdefault(loop.letters[:-1], loop)
    for given in dict.fromkeys([*own, *_wide_types(entries, takes_truth)]):
        steps = overloads.steps(list(given), [_kind(letters).range for letters in given], most)
        tried = [among[step.overload][0] for step in steps]
        candidates = [by_row[each] for each in tried if each in by_row]
        is_first = bool(candidates) and candidates[0].signature == tried[0]
        if given in own and (not is_first or tried == [own[given].entry.signature]):
            loops.append(own[given])
        elif is_first:
            # If not all steps are known, Python may choose any overload that is not excluded.
            later = [] if most is None or all(steps[-1].fits) else overloads.after(list(given), steps)
            possible = [*candidates, *[of_results[each] for each in {results[at] for at in later} if each]]
            loops.append(_Loop(candidates[0], (*given, _result(possible, own.get(given))), True))
    order = {id(entry): at for at, entry in enumerate(entries)}
    return _Loops(in_order(sorted(loops, key=lambda loop: order[id(loop.entry)])), among, tuple(entries))


def _loops(function: Any, core: Core | None) -> _Loops:
    """Returns the loops of all entries that NumPy can use and that have as many arguments as the first such entry."""
    import numpy

    # NumPy before 1.22 does not check for exceptions after a loop that acquires the GIL itself.
    may_raise = tuple(map(int, numpy.__version__.split(".")[:2])) >= (1, 22)

    def unusable(entry: Entry) -> str:
        if not may_raise and entry.view().verdict != "RESULT":
            return "may raise, or fall back, and NumPy checks for exceptions only since 1.22"
        if has_buffers(entry):
            return why_no_rows(entry, core)
        if core is None or core == core_of(entry):
            return _no_numbers(entry)
        if any(core[0] + core[1]):
            return "has no buffers, but the signature has"
        return f"takes {len(core_of(entry)[0])} numbers, not {len(core[0])}"

    found = offered(function)
    entries = usable(function, "NumPy", unusable, found)
    first = entries[0]
    entries = [entry for entry in entries if has_buffers(entry) == has_buffers(first)]
    # Entries with fewer arguments only omit arguments with defaults.
    count = len(core_of(first)[0])
    takes_truth = is_alone(function, [each.python_types()[0] for each in found])
    if has_buffers(first):
        return _Loops(in_order(row_loops(entries, core, may_raise, takes_truth)))
    entries = [entry for entry in entries if len(_arrays(entry)) == len(_arrays(first))]
    loops = [_Loop(entry, tuple(_arrays(entry))) for entry in entries]
    # These loops need NumPy's check for exceptions, because an int that does not fit raises.
    if not may_raise:
        return _Loops(in_order(loops))
    return _all_loops([entry for entry in found if len(core_of(entry)[0]) == count], loops, takes_truth)


def ufunc(f: Any, name: str | None = None, *, signature: str | None = None) -> Any:
    """Returns a numpy.ufunc with a loop for each overload of `f` whose types are numbers. The result is always
    the same object if the function can be imported by its name. The ufunc keeps `f` alive.

    A ufunc is pickled as the names of the function and its module. The function may be a static method, or be defined
    in the script itself. The reading process makes the ufunc again. A call raises ImportError if that process lacks
    the module, and TypeError if the loops have different types there.

    The loops are in the order in which Python tries the overloads, but narrow types come before wide types, and ints
    before floats. There are also loops over 64-bit ints for narrower ints, and over doubles for floats. If a function
    has no overloads, its bool parameters also have loops over doubles and complex numbers. These loops convert
    elements as `f` does, and call `f` for an int that does not fit, so that its OverflowError is raised. Their
    results are int64 and float64. All loops have as many arguments as the first overload, or as `signature`, such as
    `(),()->()`.

    A function that takes buffers becomes a generalised ufunc, with a signature such as `(n)->()` for `*kd->d`. Each
    buffer is a row of an array. Rows with gaps are copied. `signature` declares in NumPy's notation which lengths are
    equal, as in `(n),(n)->()`. By default, each buffer has its own length. `signature` also declares which buffers are
    outputs. Outputs come before the result, in the order of the arguments. With `(n)->(n)`, a function `*kd*d->v`
    writes to an output, and a function `*d->v` changes a copy of the input. NumPy copies outputs that overlap inputs.

    NumPy calls loops without the GIL. Loops of overloads that may raise or are not thread-safe acquire the GIL. If an
    overload falls back for an element, `f` is called. After an exception, the rest of the output is unchanged,
    or undefined if it is converted. With NumPy before 1.22, which does not check for exceptions, overloads that may
    raise are omitted. Raises TypeError as typedcall.resolve() does, and ImportError on PyPy."""
    if sys.implementation.name == "pypy":
        raise ImportError("CPython only: ufunc() needs NumPy's C API, which PyPy emulates")
    with extension_of("ufunc()"):
        from typedcall.numpy._numpy_bridge import make_ufunc

    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a str, not '{type_name(name)}'")
    core = None if signature is None else read_core(signature)
    loops = _loops(f, core)
    path = name or _path(f)
    existing = _made.get((id(f), signature))
    if name is None and existing is not None and existing[1] == loops:
        return existing[2]
    types = b""
    for loop in loops.loops:
        types += bytes([dtype_of(letters).num for letters in loop.letters])
    first = loops.loops[0]
    nin, nout, shape = len(first.inputs), 1, ""
    if isinstance(first, RowLoop):
        nout, shape = len(first.core[1]), first.signature
    rows = loops.rows(by_position(f))
    text = _c_string(text_attribute(f, "__doc__"))
    doc = f"{name_of(f)} for arrays.\n\n{text}"
    made = make_ufunc(path, doc, rows, types, nin, nout, shape, (f, name, signature))
    pickle_by_origin(type(made), _ufunc_again)
    if name is not None or "." not in path:
        return made
    with _keeping.lock:
        existing = _made.get((id(f), signature))
        if existing is None or existing[1] != loops:
            # The ufunc is kept until the process ends.
            existing = _made[id(f), signature] = (f, loops, made)
    return existing[2]


def _ufunc_again(pickled: Any, name: str | None, signature: str | None, loops: str) -> Any:
    """Reads a pickled ufunc. Raises TypeError if the results would differ."""

    def make(function: Any) -> Any:
        made = ufunc(function, name, signature=signature)
        if show_loops(made) != loops:
            raise TypeError(f"as a ufunc {name_of(function)} has the loops {few(show_loops(made).split(), ' ')}, "
                            f"not {few(loops.split(), ' ')}")
        return made

    return ask_again(pickled, make)


# Pickles refer to this name in typedcall.to_numpy.
_ufunc_again.__module__ = "typedcall.to_numpy"


def _path(function: Any) -> str:
    """Returns `module.name` or `module.Class.name` if `function` can be imported from there. Otherwise returns only
    its name."""
    place = import_path(function)
    if place is not None and _c_string(".".join(place)) == ".".join(place):
        return ".".join(place)
    return _c_string(text_attribute(function, "__name__")) or "typed_function"


def _c_string(text: str | None) -> str:
    """Removes null characters and lone surrogates, which a C string cannot contain."""
    return (text or "").replace("\0", "").encode(errors="replace").decode()


def _is_special(name: str) -> bool:
    """True if `name` is a special name, which Python may look up on any object."""
    return name.startswith("__") and name.endswith("__")


class _Names:
    """A module or class on the path to a ufunc."""

    def __init__(self, path: str, inside: type | None = None) -> None:
        self._path = path
        self._inside = inside

    def __getattr__(self, name: str) -> Any:
        if _is_special(name):
            # pickle also calls this for an object that has no path yet.
            if "{}.{}".format(self.__dict__.get("_path"), name) not in sys.modules:
                raise AttributeError(name)
        path = f"{self._path}.{name}"
        module: Any = self._inside
        if module is None:
            try:
                module = importlib.import_module(self._path)
            except ImportError as error:
                raise AttributeError(str(error)) from None
        found = getattr(module, name, None)
        if callable(found):
            try:
                return ufunc(found)
            except TypeError as error:
                if isinstance(found, type):
                    return _Names(path, found)
                raise AttributeError(str(error)) from None
        if self._inside is not None:
            raise AttributeError(f"there is no function {path:.200}")
        if not isinstance(found, ModuleType):
            try:
                importlib.import_module(path)
            except ImportError:
                raise AttributeError(f"there is no function {path:.200}") from None
        return _Names(path)
