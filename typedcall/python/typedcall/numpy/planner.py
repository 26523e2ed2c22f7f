"""Plans the loops of a ufunc: for each tuple of array types, the overload that Python would choose, and what the loop
must convert."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, Callable, NamedTuple

from typedcall.calling.choose import rows_to_rank
from typedcall.numpy.gufuncs import MOST_WIDE_LOOPS, TRUTHS, RowLoop
from typedcall.numpy.loop_order import in_order
from typedcall.record.choice import Kind, Overloads, Plan, rank_of_kind
from typedcall.record.codes import CODES, common_result, describe, kind_of, letters_for, range_of
from typedcall.record.records import Entry
from typedcall.sources.numpy_ import dtype_of
from typedcall.tools.foreign import few

__all__ = ["Loop", "Loops", "Planner", "arrays_of", "has_dtype"]

# For functions with more overloads than these, only so many are looked at for each loop. At run time, Python chooses
# among so many if the best does not fit (typedcall/calling/choose.h).
_MANY, _MOST_STEPS = 64, 4
# The types as which a loop sees elements that its conversions do not take. NumPy casts them first.
_NARROWER = {"g": "d", "Zg": "Zd"}


def _whole_kind(letters: str) -> str:
    """Returns the kind of a number. Unsigned ints have that of signed ones."""
    kind = kind_of(letters)
    return "signed" if kind == "unsigned" else kind


def arrays_of(entry: Entry) -> list[str]:
    """Returns the codes of the elements of each array, the output last."""
    arguments, result = entry.python_types()
    return [] if result == "v" or not arguments else arguments + [result]


def has_dtype(letters: str) -> bool:
    try:
        dtype_of(letters)
    except ValueError:
        return False
    return True


class Loop(NamedTuple):
    """One loop of a ufunc."""

    #: The entry that values of the arrays' types prefer.
    entry: Entry
    #: The types of the arrays, the output last. They may differ from the entry's types.
    letters: tuple[str, ...]
    #: True if the loop converts elements, or chooses an overload for each.
    converts: bool = False
    #: True if NumPy cannot call the overload that Python tries first, so that `entry` is any other.
    chooses: bool = False
    #: The types of the results that are possible, if no array can hold all of them.
    results: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[Any, ...]:
        return tuple(dtype_of(letters) for letters in self.letters[:-1])


class Loops(NamedTuple):
    """All loops of a ufunc, in NumPy's order."""

    loops: list[Loop] | list[RowLoop]
    #: The rows from rows_to_rank(), and the entries that NumPy can call, for the loops that convert.
    among: tuple[tuple[str, int, int], ...] = ()
    called: tuple[Entry, ...] = ()

    def rows(self, function: Any) -> tuple[tuple[Any, ...], ...]:
        """Returns the loops as tuples for make_ufunc()."""
        return tuple([loop.row(function) if isinstance(loop, RowLoop) else self.row(loop, function)
                      for loop in self.loops])

    def row(self, loop: Loop, function: Any) -> tuple[Any, ...]:
        entry = loop.entry
        if not loop.converts:
            return entry.signature, int(entry.flags), entry.address, entry.keep_alive, function
        kept = tuple([each.keep_alive for each in self.called])
        asked = f"{''.join(loop.letters[:-1])}->{loop.letters[-1]}"
        return entry.signature, int(entry.flags), entry.address, kept, function, asked, self.among, loop.chooses


def _kind(letters: str) -> Kind:
    """Returns the kind of Python value for an array's elements."""
    kind = kind_of(letters)
    if kind in ("signed", "unsigned"):
        return Kind("INT", range_of(letters))
    if kind == "bool":
        return Kind("BOOL", (0, 1))
    is_narrow = CODES[letters].size < (8 if kind == "floating" else 16)
    return Kind(("C_" if is_narrow else "") + {"floating": "FLOAT", "complex": "COMPLEX"}[kind])


def _ranges(given: tuple[str, ...]) -> list[tuple[int, int]]:
    return [_kind(letters).range for letters in given]


@functools.cache
def _casts_as_python(given: str, wanted: str) -> bool:
    """True if NumPy casts every element of one type to what the boxed call passes for the other."""
    if given == wanted:
        return True
    kinds, small = (kind_of(given), kind_of(wanted)), CODES[given].size < 8
    if kinds[0] == "bool":
        return True
    if kinds[0] in ("signed", "unsigned"):
        if kinds[1] in ("signed", "unsigned"):
            (low, high), (least, most) = range_of(given), range_of(wanted)
            return least <= low and high <= most
        # Python makes a double first.
        return kinds[1] in ("floating", "complex") and (small or wanted in ("d", "Zd"))
    if kinds[0] == "floating":
        is_wider = CODES[wanted].size >= CODES[given].size * (2 if kinds[1] == "complex" else 1)
        return kinds[1] in ("floating", "complex") and (
            wanted in ("d", "Zd") or is_wider and given != "g")
    return kinds == ("complex", "complex") and (wanted == "Zd" or CODES[wanted].size > CODES[given].size)


def _wide_types(entries: list[Entry], takes_truth: bool) -> list[tuple[str, ...]]:
    """Returns the array types for values from Python: 64-bit ints and doubles. NumPy casts an int to a double for a
    floating parameter, and a bool to an int. If there are several overloads, ints and bools have their own loops,
    because a cast could choose another overload."""
    made: dict[tuple[str, ...], None] = {}
    for entry in entries:
        options = []
        *arguments, _ = arrays_of(entry)
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


def _wide_result(letters: str) -> str:
    """Returns the code of NumPy's type for a number that is a result in Python."""
    kind, size = kind_of(letters), CODES[letters].size
    if kind in ("signed", "unsigned"):
        return letters if size == 8 else "l"
    return "d" if kind == "floating" and size < 8 else letters


def _result(candidates: list[str], own: str | None) -> str:
    """Returns the type of the result array if results of any of these types are possible. This is the loop's `own`
    result, or NumPy's type for a Python result if another overload has a wider result. The loop itself detects results
    that do not fit."""
    wide = list(map(_wide_result, candidates))
    made = common_result(wide) or wide[0]
    is_right = own is not None and common_result([own, made])
    return own if own and is_right and CODES[own].size >= max([CODES[each].size for each in candidates]) else made


@functools.cache
def _numbers() -> dict[int, str]:
    """Returns the codes of numbers by NumPy's type numbers. A loop sees a float16 as a float."""
    import numpy

    kinds = {"b": "bool", "i": "signed", "u": "unsigned", "f": "floating", "c": "complex"}
    types = [numpy.dtype(letter) for letter in "?bBhHiIlLqQfdgFDG"]
    own = {dtype_of(letters).num: letters for letters, code in CODES.items() if code.kind == "floating"}
    return {numpy.dtype("e").num: "f", **own,
            **{each.num: letters_for(kinds[each.kind], each.itemsize) for each in types}}


def _letters_of(numbers: bytes) -> tuple[str, ...]:
    return tuple([_numbers()[each] for each in numbers])


class Planner:
    """The loops of a function. A loop has the overload that Python chooses for values of the arrays' types. If the
    choice depends on values or an int may not fit, the loop checks each element."""

    def __init__(self, found: list[Entry], entries: list[Entry], takes_truth: bool) -> None:
        """`found` contains all overloads, and `entries` those that NumPy can call."""
        self._entries = entries
        self._takes_truth = takes_truth
        among = rows_to_rank(found, [entry for entry in entries if CODES[arrays_of(entry)[-1]].size <= 8])
        self._among = among
        described = [describe(*row[:2]) for row in among]
        self._results = [each[1] for each in described]
        self._by_row = {entry.signature: entry for entry in reversed(entries)}
        #: The results of overloads that NumPy can call, and "v" for the others.
        self._possible = [each if row[0] in self._by_row else "v" for row, each in zip(among, self._results)]

        def rank_of(given: str, letters: str) -> int | None:
            return rank_of_kind(takes_truth, _kind(given), letters)

        self._overloads = Overloads([each[0] for each in described], rank_of)
        self._most = None if len(among) <= _MANY else _MOST_STEPS
        self._own: dict[tuple[str, ...], Loop] = {}
        for entry in entries:
            letters = tuple(arrays_of(entry))
            self._own.setdefault(letters[:-1], Loop(entry, letters))
        self._left_out: set[tuple[str, ...]] = set()
        loops = self._all_loops()
        self.loops = Loops(loops, among, tuple(entries))
        self._by_types = {loop.letters[:-1]: loop for loop in reversed(loops)}

    def _all_loops(self) -> list[Loop]:
        """Returns loops over the overloads' types and over wider types."""
        loops: list[Loop] = []
        for given in dict.fromkeys([*self._own, *_wide_types(self._entries, self._takes_truth)]):
            loop = self.loop(given)
            is_usual = loop is not None and not loop.chooses and not loop.results
            if loop is not None and loop.letters[:-1] == given and (is_usual or given in self._own):
                loops.append(loop)
            else:
                self._left_out.add(given)
        order = {id(entry): at for at, entry in enumerate(self._entries)}
        return in_order(sorted(loops, key=lambda loop: order[id(loop.entry)]))

    def _steps(self, given: tuple[str, ...]) -> Plan:
        return self._overloads.steps(list(given), _ranges(given), self._most)

    def loop(self, given: tuple[str, ...]) -> Loop | None:
        """Returns the loop for arrays of these types, or None if Python has no overload for them. The loop may be over
        types to which NumPy casts the arrays first."""
        steps = self._steps(given)
        if not steps:
            return None
        tried = [self._among[step.overload][0] for step in steps]
        first, own = self._by_row.get(tried[0]), self._own.get(given)
        possible = steps.reachable or steps[:1]
        # Results of Python may not fit the array. They raise then.
        called = [step for step in possible if self._among[step.overload][0] in self._by_row]
        results = [self._results[step.overload] for step in called or possible]
        if first is not None and len(steps) == 1 and all(steps[0].fits):
            *arguments, result = arrays_of(first)
            inputs = [letters if _casts_as_python(each, letters) else _NARROWER.get(each, each)
                      for each, letters in zip(given, arguments)]
            if inputs == arguments:
                return Loop(first, tuple(arguments) + (result,))
        else:
            inputs = [_NARROWER.get(each, each) for each in given]
            results += sorted({*map(self._possible.__getitem__, steps.later)})
        numbers = [each for each in results if has_dtype(each)]
        if not numbers:
            return None
        return Loop(first or self._entries[0], (*inputs, _result(numbers, own and own.letters[-1])), True,
                    first is None, () if common_result(numbers) else tuple(dict.fromkeys(numbers)))

    @staticmethod
    def _checked(given: tuple[str, ...], loop: Loop | None) -> Loop:
        """Raises TypeError if there is no loop, or no array for its results."""
        if loop is None:
            raise TypeError(f"no overload takes {few(given)}")
        if loop.results:
            raise TypeError(f"which overload is called for {few(given)} depends on the values, and there is no array "
                            f"for all of its results, {few(loop.results)}; cast the arrays to an overload's types")
        return loop

    def planned(self, numbers: tuple[int, ...]) -> Loop:
        """Returns the loop for arrays of these types, by NumPy's type numbers. Raises TypeError as a call would."""
        given = _letters_of(bytes(numbers))
        return self._checked(given, self.loop(given))

    def for_calls(self, function: Any) -> Callable[[bytes, bytes | None, bytes], Any] | None:
        """Returns the planner for make_ufunc(), or None if a function has no overloads: NumPy's casts are right then."""
        if len(self._among) < 2:
            return None

        def plan(brought: bytes, of_numpy: bytes | None, weak: bytes) -> tuple[Any, ...] | None:
            given = _letters_of(brought)
            numpys = None if of_numpy is None else _letters_of(of_numpy[:-1])
            if numpys is not None and self._is_right(given, numpys, weak):
                return None
            loop = self.loop(given)
            if numpys is None and given not in self._left_out and (loop is None or self._loses_digits(given, loop)):
                return None  # NumPy says why
            loop = self._checked(given, loop)
            types = bytes([dtype_of(letters).num for letters in loop.letters])
            known = self._by_types.get(loop.letters[:-1])
            if known is not None and known.letters == loop.letters:
                return (types,)
            return types, self.loops.row(loop, function)

        return plan

    @staticmethod
    def _loses_digits(given: tuple[str, ...], loop: Loop) -> bool:
        return any(each in _NARROWER and each != letters for each, letters in zip(given, loop.letters))

    def _is_right(self, given: tuple[str, ...], numpys: tuple[str, ...], weak: bytes) -> bool:
        """True if the loop that NumPy would use does what Python does for arrays of the types `given`. NumPy converts
        `weak` arguments, numbers of Python, as Python does. They have the loop's type if that is of their kind."""
        weak = weak or bytes(len(given))
        given = tuple([letters if is_weak and _whole_kind(each) == _whole_kind(letters) else each
                       for each, letters, is_weak in zip(given, numpys, weak)])
        loop = self._by_types.get(numpys)
        if loop is None or loop.results and given != numpys:
            return False
        casts = all([is_weak or _casts_as_python(each, letters)
                     for each, letters, is_weak in zip(given, numpys, weak)])
        steps = self._steps(given)
        if not loop.converts:
            return casts and len(steps) == 1 and all(steps[0].fits) and (
                self._by_row.get(self._among[steps[0].overload][0]) is loop.entry)
        same = self._steps(numpys)
        keeps_kinds = list(map(_whole_kind, given)) == list(map(_whole_kind, numpys))
        return casts and keeps_kinds and [each.overload for each in steps] == [each.overload for each in same]
