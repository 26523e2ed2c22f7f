"""Finds the overloads that the boxed call may take, in its order, if the types are known and the
values are not. docs/ABI.md, 8.7 to 8.9, has the rules; typedcall/calling/choose.h has the order,
and the walk with values."""
from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

from typedcall.record.codes import in_order, kind_of, range_of, rank

__all__ = ["Kind", "Step", "makes_floating", "steps", "steps_of_kinds"]


class Kind(NamedTuple):
    """Values of one type: their Python kind in typedcall/overload_choice.h, and for ints the possible range."""

    name: str
    range: tuple[int, int] = (0, 0)


class Step(NamedTuple):
    """An overload that the boxed call would try, in its turn."""

    #: The overload; from steps(), its index.
    overload: Any
    #: For each argument, true if it fits; None if its value decides. For one that becomes floating,
    #: true if it fitted all overloads tried before.
    fits: list[bool | None]

    @property
    def open(self) -> set[int]:
        """The arguments whose values decide."""
        return {i for i, fit in enumerate(self.fits) if fit is None}


def _fit_of(limits: tuple[int, int], letters: str) -> bool | None:
    """True if ints between these limits fit a parameter; None if only some do."""
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
    """Returns the overloads (each the codes of its parameters) that suit the given arguments; `ranges` has all possible
    values of each int. They are in the order in which the boxed call tries them, up to one that takes all values; an
    int that is too large for one overload is not converted to a float by another."""
    suited, ranks = [], b""
    for at, letters in enumerate(overloads):
        if len(letters) != len(given):
            continue
        # No generator: CPython 3.12 and 3.13 crash if memory runs out while one is made.
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
        # Only an int that was too large for one of these gets here, and this overload makes it floating.
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
    """Like steps(), for values of these kinds. A single overload (`is_alone`) takes the truth of any number for a
    bool."""
    return steps(overloads, given, [kind.range for kind in given], functools.partial(_rank, is_alone))
