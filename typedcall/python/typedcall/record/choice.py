"""The overloads that the boxed call may choose for arguments of known types, in the order in which it tries them.
typedcall/calling/plan.h finds them."""
from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

from typedcall.record.codes import bytes_of, kind_of, plan, rank

__all__ = ["Kind", "Overloads", "Plan", "Step", "makes_floating", "rank_of_kind", "steps", "steps_of_kinds"]

# The byte in a column of ranks if an overload does not accept an argument.
_UNSUITABLE = 255


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


def makes_floating(letters: str) -> bool:
    return kind_of(letters) in ("floating", "complex")


class Plan(list[Step]):
    """The steps of calls with arguments of certain types. The last step accepts all values, or there may be values that no
    overload accepts."""

    #: Those that some values take.
    reachable: list[Step]
    #: The overloads that may follow if not all were looked at, in any order.
    later: list[int]


class Overloads:
    """The overloads of one function, for many choices. Overloads are passed as the codes of their parameters. The rank
    of an argument is found once for each position and code."""

    def __init__(self, overloads: list[list[str]], rank_of: Callable[[Any, str], int | None]) -> None:
        self._overloads = overloads
        self._rank_of = rank_of
        self._of_count: dict[int, list[int]] = {}
        self._columns: dict[tuple[int, int, Any], bytes] = {}
        for at, letters in enumerate(overloads):
            self._of_count.setdefault(len(letters), []).append(at)
        self._codes = {count: bytes_of([letters for at in found for letters in overloads[at]])
                       for count, found in self._of_count.items()}

    def _column(self, count: int, i: int, given: Any) -> bytes:
        """Returns the rank of argument `i` for each overload with `count` parameters."""
        column = self._columns.get((count, i, given))
        if column is None:
            codes = [self._overloads[at][i] for at in self._of_count.get(count, [])]
            ranks = {letters: self._rank_of(given, letters) for letters in dict.fromkeys(codes)}
            found = {letters: _UNSUITABLE if rank is None else rank for letters, rank in ranks.items()}
            column = self._columns[count, i, given] = bytes([found[letters] for letters in codes])
        return column

    def steps(self, given: list[Any], ranges: list[tuple[int, int]], most: int | None = None) -> Plan:
        """Plans a call with these arguments. `ranges` are the possible ranges of ints. With `most`, only so many overloads
        are looked at, which saves time: the whole order takes cubic time."""
        suited = self._of_count.get(len(given), [])
        columns = tuple([self._column(len(given), i, each) for i, each in enumerate(given)])
        found, later = plan(self._codes.get(len(given), b""), columns, ranges, len(suited), most or len(suited))
        made = Plan([Step(suited[at], fits) for at, fits, _ in found])
        made.reachable = [step for step, (*_, is_reachable) in zip(made, found) if is_reachable]
        made.later = [suited[at] for at in later]
        return made


def steps(overloads: list[list[str]], given: list[Any], ranges: list[tuple[int, int]],
          rank_of: Callable[[Any, str], int | None]) -> Plan:
    """Makes one choice; see Overloads."""
    return Overloads(overloads, rank_of).steps(given, ranges)


def rank_of_kind(is_alone: bool, kind: Kind, letters: str) -> int | None:
    """Returns how well a value of this kind suits a parameter, 0 being best, or None. With `is_alone`, a bool parameter
    accepts any number, as its truth value."""
    return rank("BOOL" if is_alone and letters == "?" else kind.name, letters)


def steps_of_kinds(overloads: list[list[str]], given: list[Kind], is_alone: bool) -> Plan:
    """Like steps(), for values of these kinds."""
    return steps(overloads, given, [kind.range for kind in given], functools.partial(rank_of_kind, is_alone))
