"""The walk among overloads where types are known and values are not: which ones the boxed call may take, in its order.
docs/ABI.md, 8.7 to 8.9, is the rule; typedcall/calling/choose.h is the walk with values."""
from __future__ import annotations

import operator
from typing import Any, NamedTuple

__all__ = ["Step", "Suited", "in_order", "steps"]


class Suited(NamedTuple):
    """An overload that suits the types, with a row for each argument."""

    overload: Any
    #: How well each suits: ranks of typedcall/overload_choice.h.
    ranks: list[int]
    #: Does each of its values fit the parameter? None: some do.
    fits: list[bool | None]
    #: Does the parameter make an int floating?
    floating: list[bool]


class Step(NamedTuple):
    """An overload that the boxed call would try, in its turn."""

    overload: Any
    #: For each argument: does it fit? None: its value decides. Of one that becomes floating: has it fit all overloads
    #: that were tried before?
    fits: list[bool | None]

    @property
    def open(self) -> set[int]:
        """The arguments whose values decide."""
        return {i for i, fit in enumerate(self.fits) if fit is None}


def in_order(ranks: list[list[int]]) -> list[int]:
    """The numbers of these rows, each of which suits: the least worst rank first, among equals the first that no
    other one beats, which is at least as good in every argument and better in one."""
    left, ordered = list(range(len(ranks))), []
    while left:
        worst = min(max(ranks[at], default=0) for at in left)
        equals = [at for at in left if max(ranks[at], default=0) == worst]
        best = next(at for at in equals if not any(
            ranks[other] != ranks[at] and all(map(operator.le, ranks[other], ranks[at])) for other in equals))
        ordered.append(best)
        left.remove(best)
    return ordered


def steps(suited: list[Suited]) -> list[Step]:
    """The overloads in the order in which the boxed call tries them, up to one that takes all values; an int that one
    overload is too narrow for is not made floating by another."""
    made: list[Step] = []
    misfits: dict[int, bool | None] = {}
    for at in in_order([each.ranks for each in suited]):
        overload, _, own, becomes = suited[at]
        floating = {i for i, is_floating in enumerate(becomes) if is_floating}
        fits = [misfits.get(i, True) if i in floating else fit for i, fit in enumerate(own)]
        # Who gets here has an int that one of these was too narrow for, and this one makes floating.
        if any(False not in step.fits and step.open <= floating for step in made):
            continue
        made.append(Step(overload, fits))
        if all(fits):
            break
        for i, fit in enumerate(fits):
            if not fit and misfits.get(i) is not False:
                misfits[i] = fit
    return made
