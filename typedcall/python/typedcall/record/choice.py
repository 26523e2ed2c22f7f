"""Finds the overloads that the boxed call may choose for arguments of known types, in the order in which it tries
them. The rules are in docs/ABI.md, 8.7 to 8.9. typedcall/calling/choose.h implements them for known values."""
from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

from typedcall.record.codes import in_order, kind_of, range_of, rank

__all__ = ["Kind", "Step", "makes_floating", "steps", "steps_of_kinds"]


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


def steps(overloads: list[list[str]], given: list[Any], ranges: list[tuple[int, int]],
          rank_of: Callable[[Any, str], int | None]) -> list[Step]:
    """Returns the overloads that accept the given arguments. Overloads are passed as the codes of their parameters.
    `ranges` are the possible ranges of ints. The result is in the order in which the boxed call tries the overloads,
    and ends with the first that accepts all values. An int that is too large for one overload must not become a float
    for another."""
    suited, ranks = [], b""
    for at, letters in enumerate(overloads):
        if len(letters) != len(given):
            continue
        # This is not a generator, because CPython 3.12 and 3.13 crash if memory runs out while one is made.
        row = [each for each in map(rank_of, given, letters) if each is not None]
        if len(row) == len(given):
            suited.append(at)
            ranks += bytes([max(row, default=0), *row])
    made: list[Step] = []
    misfits: dict[int, bool | None] = {}
    for number in in_order(ranks, len(suited)):
        at = suited[number]
        floating = {i for i, letters in enumerate(overloads[at]) if makes_floating(letters)}
        fits = [misfits.get(i, True) if i in floating else _fit_of(ranges[i], letters)
                for i, letters in enumerate(overloads[at])]
        # This overload would convert an int that was too large for an earlier one to a float.
        if [step for step in made if False not in step.fits and step.open <= floating]:
            continue
        made.append(Step(at, fits))
        if all(fits):
            break
        for i, fit in enumerate(fits):
            if not fit and misfits.get(i) is not False:
                misfits[i] = fit
    return made


def _rank(is_alone: bool, kind: Kind, letters: str) -> int | None:
    return rank("BOOL" if is_alone and letters == "?" else kind.name, letters)


def steps_of_kinds(overloads: list[list[str]], given: list[Kind], is_alone: bool) -> list[Step]:
    """Like steps(), for values of these kinds. With `is_alone`, a bool parameter accepts any number, as its truth
    value."""
    return steps(overloads, given, [kind.range for kind in given], functools.partial(_rank, is_alone))
