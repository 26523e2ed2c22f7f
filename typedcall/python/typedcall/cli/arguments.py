"""Arguments for `verify`: edges of every native type, random values of all magnitudes, values that
do not fit and values of the wrong type."""
from __future__ import annotations

import itertools
import math
import random
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from typedcall._codes import CODES, Code

__all__ = ["ArgumentMaker", "why_not"]

_MOST_EDGES = 4096


def why_not(letters: Sequence[str]) -> str | None:
    """Why no arguments of these types can be made up, or None."""
    for each in letters:
        if each.startswith("&") or CODES[each].kind == "pointer":
            return f"takes a pointer ('{each}'), and nothing says to how much"
    return None


class _Index:
    """An int by its __index__."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Index({self.value})"


def _limits(code: Code) -> tuple[int, int]:
    bits = 8 * code.size
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if code.kind == "signed" else (
        0, (1 << bits) - 1)


def _integer_edges(code: Code) -> list[int]:
    low, high = _limits(code)
    near = {low, low + 1, high - 1, high, 0, 1, 2, 3}
    near.update(sign * (1 << bit) + more for bit in (7, 15, 30, 31, 52, 60, 62)
                for sign in (-1, 1) for more in (-1, 0, 1))
    near.update((-1, -2))
    return sorted(value for value in near if low <= value <= high)


_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, math.inf, -math.inf, math.nan,
           sys.float_info.max, -sys.float_info.max, sys.float_info.min, -sys.float_info.min, 5e-324,
           -5e-324, 1 + sys.float_info.epsilon, 1 - sys.float_info.epsilon / 2, 9007199254740993.0,
           1e22, 1e-300, 710.0, -750.0, 171.7, math.pi]
_TEXTS = ["", "a", "text", "\xe4\xf6\xfc", "\u20ac", "\U0001f600", " ", "x" * 1000]
# Of the wrong type for some codes, and to be converted for others.
_STRANGERS: list[Any] = [
    None, "text", 1.5, 2j, 3, -1, True, 10**400, 10**30, -(10**30), [], b"bytes"]
_OBJECTS: list[Callable[[], Any]] = [
    lambda: None, lambda: 0, lambda: 1.5, lambda: "text", lambda: (1, 2), lambda: [1, 2],
    lambda: {"key": 1}, lambda: True, lambda: b"bytes"]


def _float_edges(code: Code) -> list[float]:
    if code.size != 4:
        return _FLOATS
    largest = struct.unpack("f", b"\xff\xff\x7f\x7f")[0]
    return _FLOATS + [largest, -largest, largest * (1 + 2.0**-24), 2.0**-149, 2.0**-126]


class ArgumentMaker:
    """Tuples of arguments for one signature. The same seed makes the same ones."""

    def __init__(
        self,
        letters: Sequence[str],
        seed: int,
        only_fitting: bool,
        largest: int | None = None,
    ) -> None:
        self._codes = [CODES[each] for each in letters]
        self._random = random.Random(seed)
        self._only_fitting = only_fitting
        self._largest = largest

    def all(self, count: int) -> Iterator[tuple[Any, ...]]:
        """`count` tuples: edges with edges first, then what does not fit, together at most half of
        them, then random ones. One argument at most does not fit: which of two is reported is the
        wrapper's own affair."""
        if not self._codes:
            yield from ((),) * count
            return
        made = 0
        chosen = itertools.chain(self._all_edges(count // 4), self._all_misfits())
        for arguments in itertools.islice(chosen, max(count // 2, 1)):
            made += 1
            yield arguments
        for _ in range(count - made):
            arguments = tuple(self._any(code) for code in self._codes)
            if not self._only_fitting and self._random.random() < 0.05:
                at = self._random.randrange(len(arguments))
                misfit = self._random.choice(self._misfits(self._codes[at]))
                arguments = (*arguments[:at], misfit, *arguments[at + 1:])
            yield arguments

    def _all_edges(self, most: int) -> Iterator[tuple[Any, ...]]:
        edges = [self._edges(code) for code in self._codes]
        if math.prod(map(len, edges)) <= min(_MOST_EDGES, most):
            return itertools.product(*edges)
        # Too many to combine: each edge of each argument with others at random.
        return self._each_with_others(edges)

    def _all_misfits(self) -> Iterator[tuple[Any, ...]]:
        if self._only_fitting:
            return iter(())
        return self._each_with_others([self._misfits(code) for code in self._codes])

    def _each_with_others(self, values: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
        """Every value in its place, the others edges."""
        edges = [self._edges(code) for code in self._codes]
        for at, own in enumerate(values):
            for value in own:
                yield tuple(self._random.choice(other) if i != at else value
                            for i, other in enumerate(edges))

    def _misfits(self, code: Code) -> list[Any]:
        misfits = list(_STRANGERS)
        # On PyPy the C API itself knows no __index__ where a float is wanted.
        if sys.implementation.name != "pypy":
            misfits.append(_Index(5))
        if code.kind in ("signed", "unsigned"):
            low, high = _limits(code)
            misfits += [low - 1, high + 1]
        return misfits

    def _edges(self, code: Code) -> list[Any]:
        if code.kind == "bool":
            return [False, True]
        if code.kind in ("signed", "unsigned"):
            low, high = self._range(code)
            return [edge for edge in _integer_edges(code) if low <= edge <= high]
        if code.kind == "floating":
            return [edge for edge in _float_edges(code) if self._is_allowed(edge)]
        if code.kind == "complex":
            parts = [0.0, -0.0, 1.0, -1.5, math.inf, math.nan]
            return [complex(real, imaginary) for real in parts for imaginary in parts]
        if code.kind == "string":
            return list(_TEXTS)
        if code.kind == "object":
            return [make() for make in _OBJECTS]
        raise ValueError(f"no arguments are known for '{code.letters}', of kind {code.kind}")

    def _any(self, code: Code) -> Any:
        if code.kind == "floating":
            return self._float(code)
        if code.kind == "complex":
            return complex(self._float(code), self._float(code))
        if code.kind in ("signed", "unsigned"):
            return self._integer(code)
        if code.kind == "string":
            letters = [chr(self._random.randrange(1, 0x2000)) for _ in range(8)]
            return "".join(letters)[:self._random.randrange(9)]
        return self._random.choice(self._edges(code))

    def _range(self, code: Code) -> tuple[int, int]:
        low, high = _limits(code)
        if self._largest is None:
            return low, high
        return max(low, -self._largest), min(high, self._largest)

    def _integer(self, code: Code) -> int:
        low, high = self._range(code)
        which = self._random.randrange(3)
        if which == 0:
            return self._random.randint(low, high)
        if which == 1:
            return self._random.randint(max(low, -1000), min(high, 1000))
        return int(self._random.choice(self._edges(code)))

    def _float(self, code: Code) -> float:
        which = self._random.randrange(3)
        if which == 0:
            bits = self._random.getrandbits(32 if code.size == 4 else 64)
            form, number = ("f", "I") if code.size == 4 else ("d", "Q")
            value = float(struct.unpack(form, struct.pack(number, bits))[0])
            if self._is_allowed(value):
                return value
        if which == 1:
            return self._random.uniform(-10.0, 10.0)
        return float(self._random.choice(self._edges(CODES[code.letters[-1]])))

    def _is_allowed(self, value: float) -> bool:
        return self._largest is None or not math.isfinite(value) or abs(value) <= self._largest
