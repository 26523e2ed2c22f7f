"""Finds the overloads that the boxed call may choose for arguments of known types, in the order in which it tries
them. The rules are in docs/ABI.md, 8.7 to 8.9. typedcall/calling/choose.h implements them for known values."""
from __future__ import annotations

import functools
import itertools
from typing import Any, Callable, NamedTuple

from typedcall.record.codes import in_order, kind_of, range_of, rank

__all__ = ["Kind", "Overloads", "Step", "makes_floating", "rank_of_kind", "steps", "steps_of_kinds"]

# The byte in a column of ranks if an overload does not accept an argument.
_UNSUITABLE = 255
_IS_SUITABLE = bytes([rank != _UNSUITABLE for rank in range(256)])


class Kind(NamedTuple):
    """The kind of one argument, from typedcall/overload_choice.h, and the possible range of an int."""

    name: str
    range: tuple[int, int] = (0, 0)


class Step(NamedTuple):
    """An overload that the boxed call may try."""

    #: The overload; in the result of steps(), its index.
    overload: Any
    #: For each argument, True if it fits, False if not, and None if this depends on its value. An int that becomes a
    #: float fits if it was in the range of all earlier overloads.
    fits: list[bool | None]

    @property
    def open(self) -> set[int]:
        """The indices of the arguments whose values decide whether the overload fits."""
        return {i for i, fit in enumerate(self.fits) if fit is None}


@functools.lru_cache(maxsize=1024)
def _fit_of(limits: tuple[int, int], letters: str) -> bool | None:
    """True if all ints between these limits fit a parameter, False if none fits, None if some fit."""
    if kind_of(letters) not in ("signed", "unsigned"):
        return True
    (low, high), (least, most) = limits, range_of(letters)
    if least <= low and high <= most:
        return True
    return None if low <= most and least <= high else False


def makes_floating(letters: str) -> bool:
    return kind_of(letters) in ("floating", "complex")


class Overloads:
    """The overloads of one function, for many choices. Overloads are passed as the codes of their parameters. The rank
    of an argument is found once for each position and code."""

    def __init__(self, overloads: list[list[str]], rank_of: Callable[[Any, str], int | None]) -> None:
        self._overloads = overloads
        self._rank_of = rank_of
        self._of_count: dict[int, list[int]] = {}
        self._columns: dict[tuple[int, int, Any], bytes] = {}
        self._are_floating: dict[tuple[int, int], int] = {}
        for at, letters in enumerate(overloads):
            self._of_count.setdefault(len(letters), []).append(at)

    def _column(self, count: int, i: int, given: Any) -> bytes:
        """Returns the rank of argument `i` for each overload with `count` parameters."""
        column = self._columns.get((count, i, given))
        if column is None:
            codes = [self._overloads[at][i] for at in self._of_count.get(count, [])]
            ranks = {letters: self._rank_of(given, letters) for letters in dict.fromkeys(codes)}
            bytes_of = {letters: _UNSUITABLE if rank is None else rank for letters, rank in ranks.items()}
            column = self._columns[count, i, given] = bytes([bytes_of[letters] for letters in codes])
        return column

    def steps(self, given: list[Any], ranges: list[tuple[int, int]], most: int | None = None) -> list[Step]:
        """Returns the overloads that accept the given arguments. `ranges` are the possible ranges of ints. The result
        is in the order in which the boxed call tries the overloads, and ends with the first that accepts all values. An
        int that is too large for one overload must not become a float for another. With `most`, only so many overloads
        are looked at, which saves time: the whole order takes cubic time."""
        suited = self._of_count.get(len(given), [])
        columns = tuple([self._column(len(given), i, each) for i, each in enumerate(given)])
        made: list[Step] = []
        misfits: dict[int, bool | None] = {}
        # The open positions of the steps that may be followed by others.
        opened: list[set[int]] = []
        for number in in_order(columns, len(suited), len(suited) if most is None else most):
            letters = self._overloads[suited[number]]
            floating = {i for i, each in enumerate(letters) if makes_floating(each)}
            # This overload would convert an int that was too large for an earlier one to a float.
            if floating and [each for each in opened if each <= floating]:
                continue
            fits = [misfits.get(i, True) if i in floating else _fit_of(ranges[i], each)
                    for i, each in enumerate(letters)]
            made.append(Step(suited[number], fits))
            if all(fits):
                break
            if False not in fits:
                opened.append(made[-1].open)
            for i, fit in enumerate(fits):
                if not fit and misfits.get(i) is not False:
                    misfits[i] = fit
        return made

    def after(self, given: list[Any], made: list[Step]) -> list[int]:
        """Returns the overloads that accept the given arguments and that the boxed call may try after these steps, in
        any order. Takes linear time."""
        suited = self._of_count.get(len(given), [])
        bits = int.from_bytes(b"\1" * len(suited), "little")
        for i, each in enumerate(given):
            bits &= int.from_bytes(self._column(len(given), i, each).translate(_IS_SUITABLE), "little")
        for step in made:
            if False not in step.fits:
                covered = bits
                for i in step.open:
                    covered &= self._floating(len(given), i)
                bits &= ~covered
        return [*itertools.compress(suited, bits.to_bytes(len(suited), "little"))]

    def reachable(self, made: list[Step], ranges: list[tuple[int, int]]) -> list[Step]:
        """Returns those of these steps() that some values take: for each earlier step, there is an int that only the
        later one accepts."""
        found: list[Step] = []
        for step in made:
            if False in step.fits:
                continue
            letters = self._overloads[step.overload]
            if all(any(self._takes_more(letters[i], self._overloads[before.overload][i], ranges[i]) for i in before.open)
                   for before in found):
                found.append(step)
        return found

    @staticmethod
    def _takes_more(letters: str, before: str, limits: tuple[int, int]) -> bool:
        """True if a parameter accepts an int within these limits that an integer parameter does not. An int that was too
        large for that one does not become a float."""
        if makes_floating(letters) or kind_of(letters) not in ("signed", "unsigned"):
            return not makes_floating(letters)
        (low, high), (least, most) = range_of(letters), range_of(before)
        return max(low, limits[0]) < least or min(high, limits[1]) > most

    def _floating(self, count: int, i: int) -> int:
        """Returns a byte for each overload with `count` parameters: 1 if parameter `i` is floating."""
        found = self._are_floating.get((count, i))
        if found is None:
            found = self._are_floating[count, i] = int.from_bytes(
                bytes([makes_floating(self._overloads[at][i]) for at in self._of_count.get(count, [])]), "little")
        return found


def steps(overloads: list[list[str]], given: list[Any], ranges: list[tuple[int, int]],
          rank_of: Callable[[Any, str], int | None]) -> list[Step]:
    """Makes one choice; see Overloads."""
    return Overloads(overloads, rank_of).steps(given, ranges)


def rank_of_kind(is_alone: bool, kind: Kind, letters: str) -> int | None:
    """Returns how well a value of this kind suits a parameter, 0 being best, or None. With `is_alone`, a bool parameter
    accepts any number, as its truth value."""
    return rank("BOOL" if is_alone and letters == "?" else kind.name, letters)


def steps_of_kinds(overloads: list[list[str]], given: list[Kind], is_alone: bool) -> list[Step]:
    """Like steps(), for values of these kinds."""
    return steps(overloads, given, [kind.range for kind in given], functools.partial(rank_of_kind, is_alone))
