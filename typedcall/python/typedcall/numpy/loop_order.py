"""Sorts the loops of a ufunc."""

from __future__ import annotations

import functools
import heapq
import operator
from typing import Any, Protocol, TypeVar

__all__ = ["in_order"]


class _HasInputs(Protocol):
    @property
    def inputs(self) -> tuple[Any, ...]: ...


_Loop = TypeVar("_Loop", bound=_HasInputs)


def in_order(loops: list[_Loop]) -> list[_Loop]:
    """Sorts loops for NumPy, which uses the first loop to whose types it can cast. A loop comes after all loops with
    narrower types, or with ints in place of its floats. Where this decides nothing, loops with fewer floats come
    first, and then, among loops without floats, those with more bools. The rest stay in the order in which Python
    tries the overloads. In another order, wide types would hide narrow ones, and floats or ints would hide the ints
    or bools that Python prefers."""
    import numpy

    def order(loop: _Loop) -> tuple[int, int]:
        kinds = [dtype.kind for dtype in loop.inputs]
        floating = kinds.count("f") + kinds.count("c")
        return floating, 0 if floating else -kinds.count("b")

    def leads(narrow: Any, wide: Any) -> bool:
        return numpy.can_cast(narrow, wide) or narrow.kind in "iu" and wide.kind in "fc"

    # Only the first loop is used if different codes are the same type in NumPy.
    distinct: dict[tuple[Any, ...], _Loop] = {}
    for loop in sorted(loops, key=order):
        distinct.setdefault(loop.inputs, loop)
    # Sets of loops are bits of ints, because there may be thousands of loops: the loops with each type at a position,
    # and the loops whose type there leads to that type.
    of_type: list[dict[Any, int]] = [{} for _ in next(iter(distinct), ())]
    for number, types in enumerate(distinct):
        for at, dtype in enumerate(types):
            of_type[at][dtype] = of_type[at].get(dtype, 0) | 1 << number
    leading = [{wide: sum([bits for narrow, bits in each.items() if leads(narrow, wide)]) for wide in each}
               for each in of_type]
    ordered: list[_Loop] = []
    waiting = (1 << len(distinct)) - 1
    # A blocked loop waits for the last of the narrower loops that are left. Then it is looked at again.
    blocked: dict[int, list[int]] = {}
    narrower = [functools.reduce(operator.and_, [each[dtype] for each, dtype in zip(leading, types)], ~(1 << number))
                for number, types in enumerate(distinct)]
    all_loops = list(distinct.values())
    ready: list[int] = []
    looked_at = list(range(len(distinct)))
    # There is always a first loop, because no two different types can be cast to each other.
    while waiting:
        for number in looked_at:
            left = narrower[number] & waiting
            if left:
                blocked.setdefault(left.bit_length() - 1, []).append(number)
            else:
                heapq.heappush(ready, number)
        number = heapq.heappop(ready)
        ordered.append(all_loops[number])
        waiting ^= 1 << number
        looked_at = blocked.pop(number, [])
    return ordered
