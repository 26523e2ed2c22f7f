"""The walk among overloads where types are known and values are not: which ones the boxed call may take, in its order.
docs/ABI.md, 8.7 to 8.9, is the rule; typedcall/calling/choose.h is the walk with values."""
from __future__ import annotations

import operator
from typing import Any, NamedTuple

from typedcall.record.codes import kind_of, range_of, rank

__all__ = ["Kind", "Step", "Suited", "fit_of", "makes_floating", "steps", "steps_of_kinds"]

#: How a bool's parameter that is alone suits what is no bool, for its truth.
_TRUTH = 3


class Kind(NamedTuple):
    """Values of one type: what they are to Python, as typedcall/overload_choice.h has it, and of ints all that may be."""

    name: str
    range: tuple[int, int] = (0, 0)


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


def fit_of(limits: tuple[int, int], letters: str) -> bool | None:
    """Do ints between these limits fit a parameter? None: some do."""
    if kind_of(letters) not in ("signed", "unsigned"):
        return True
    (low, high), (least, most) = limits, range_of(letters)
    if least <= low and high <= most:
        return True
    return None if low <= most and least <= high else False


def makes_floating(letters: str) -> bool:
    return kind_of(letters) in ("floating", "complex")


def _in_order(ranks: list[list[int]]) -> list[int]:
    """The numbers of these rows, each of which suits: the least worst rank first, among equals the first that no
    other one beats, which is at least as good in every argument and better in one."""
    left, ordered = list(range(len(ranks))), []
    # No generator: CPython 3.12 and 3.13 do not survive making one when memory runs out.
    while left:
        worst = min([max(ranks[at], default=0) for at in left])
        equals = [at for at in left if max(ranks[at], default=0) == worst]
        best = equals[0]
        for at in equals:
            if not [other for other in equals
                    if ranks[other] != ranks[at] and all(map(operator.le, ranks[other], ranks[at]))]:
                best = at
                break
        ordered.append(best)
        left.remove(best)
    return ordered


def steps(suited: list[Suited]) -> list[Step]:
    """The overloads in the order in which the boxed call tries them, up to one that takes all values; an int that one
    overload is too narrow for is not made floating by another."""
    made: list[Step] = []
    misfits: dict[int, bool | None] = {}
    for at in _in_order([each.ranks for each in suited]):
        overload, _, own, becomes = suited[at]
        floating = {i for i, is_floating in enumerate(becomes) if is_floating}
        fits = [misfits.get(i, True) if i in floating else fit for i, fit in enumerate(own)]
        # Who gets here has an int that one of these was too narrow for, and this one makes floating.
        if [step for step in made if False not in step.fits and step.open <= floating]:
            continue
        made.append(Step(overload, fits))
        if all(fits):
            break
        for i, fit in enumerate(fits):
            if not fit and misfits.get(i) is not False:
                misfits[i] = fit
    return made


def steps_of_kinds(overloads: list[list[str]], given: list[Kind], is_alone: bool) -> list[Step]:
    """steps() of the overloads that suit values of these kinds, each the letters of its parameters; Step.overload is its
    number. One that `is_alone` takes the truth of any number for a bool."""
    suited = []
    for at, letters in enumerate(overloads):
        if len(letters) != len(given):
            continue
        ranks = [_TRUTH if is_alone and kind_of(each) == "bool" else rank(kind.name, each)
                 for kind, each in zip(given, letters)]
        if None in ranks:
            continue
        fits = [fit_of(kind.range, each) if kind.name in ("BOOL", "INT") else True for kind, each in zip(given, letters)]
        suited.append(Suited(at, [each for each in ranks if each is not None], fits, list(map(makes_floating, letters))))
    return steps(suited)
