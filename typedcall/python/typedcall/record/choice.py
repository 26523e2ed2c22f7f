"""The walk among overloads where types are known and values are not: which ones the boxed call may take, in its order.
docs/ABI.md, 8.7 to 8.9, is the rule; typedcall/calling/choose.h has the order, and the walk with values."""
from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

from typedcall.record.codes import in_order, kind_of, range_of, rank

__all__ = ["Kind", "Step", "makes_floating", "steps", "steps_of_kinds"]


class Kind(NamedTuple):
    """Values of one type: what they are to Python, as typedcall/overload_choice.h has it, and of ints all that may be."""

    name: str
    range: tuple[int, int] = (0, 0)


class Step(NamedTuple):
    """An overload that the boxed call would try, in its turn."""

    #: By steps() its number.
    overload: Any
    #: For each argument: does it fit? None: its value decides. Of one that becomes floating: has it fit all overloads
    #: that were tried before?
    fits: list[bool | None]

    @property
    def open(self) -> set[int]:
        """The arguments whose values decide."""
        return {i for i, fit in enumerate(self.fits) if fit is None}


def _fit_of(limits: tuple[int, int], letters: str) -> bool | None:
    """Do ints between these limits fit a parameter? None: some do."""
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
    """The overloads, each the letters of its parameters, that suit what is given, of which `ranges` has all ints that may
    be. They are in the order in which the boxed call tries them, up to one that takes all values; an int that one
    overload is too narrow for is not made floating by another."""
    suited, ranks = [], b""
    for at, letters in enumerate(overloads):
        if len(letters) != len(given):
            continue
        # No generator: CPython 3.12 and 3.13 do not survive making one when memory runs out.
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
        # Who gets here has an int that one of these was too narrow for, and this one makes floating.
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
    """steps() for values of these kinds. One overload that `is_alone` takes the truth of any number for a bool."""
    return steps(overloads, given, [kind.range for kind in given], functools.partial(_rank, is_alone))
