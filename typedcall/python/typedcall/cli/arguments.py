"""Generates arguments for `verify`: edge cases, random values, values that do not fit, and values of the wrong
type."""
from __future__ import annotations

import ast
import itertools
import math
import random
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Callable, NamedTuple

from typedcall.cli import CommandError
from typedcall.cli.buffers import make_buffer, why_no_buffer
from typedcall.record.buffers import fits_buffer
from typedcall.record.codes import CODES, Code, is_buffer, pointee, range_of

__all__ = ["ArgumentMaker", "Ranges", "as_buffers", "fits", "read_arguments", "read_ranges", "why_not"]

#: A pair (lowest, highest) for each parameter, or one pair for all. None means no limit.
Ranges = tuple[tuple[Any, Any], ...]

_MOST_EDGES = 4096


def why_not(letters: Sequence[str]) -> str | None:
    """Explains why arguments of these types cannot be generated, or returns None."""
    for each in letters:
        if is_buffer(each):
            reason = why_no_buffer(each)
            if reason:
                return reason
        elif each.startswith("&") or CODES[each].kind == "pointer":
            return f"takes a pointer ('{each}'), and its length is unknown"
    return None


def read_arguments(text: str) -> tuple[Any, ...]:
    """Reads a list of Python literals, such as `1.5, "a"`. Raises CommandError for anything else."""
    try:
        return tuple(ast.literal_eval(f"({text},)" if text.strip() else "()"))
    except (ValueError, SyntaxError):
        raise CommandError(f"arguments must be Python literals, not '{text}'") from None


def as_buffers(letters: Sequence[str], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Converts lists and tuples to buffers for buffer parameters. Raises CommandError if an element does not fit."""
    made = []
    for value, each in itertools.zip_longest(arguments, letters[: len(arguments)], fillvalue=""):
        if type(value) in (list, tuple) and each and is_buffer(each) and each != "*s":
            try:
                value = make_buffer(each, list(value))
            except (TypeError, ValueError, OverflowError) as error:
                raise CommandError(f"{value!r} cannot be the elements of '{each}': {error}") from None
        made.append(value)
    return tuple(made)


def read_ranges(text: str) -> Ranges:
    """Reads a list of ranges, such as the three in `0:1, :, -5:`. Raises CommandError for anything else."""
    found = []
    for each in text.split(","):
        low, colon, high = (part.strip() for part in each.partition(":"))
        try:
            ends: list[Any] = [ast.literal_eval(end) if end else None for end in (low, high)]
            is_range = bool(colon) and (None in ends or ends[0] <= ends[1])
            is_range = is_range and all(type(end) in (int, float, type(None)) for end in ends)
            ends = [None if end == no_end else end for end, no_end in zip(ends, (-math.inf, math.inf))]
            is_range = is_range and not {-math.inf, math.inf} & set(ends)
        except (ValueError, SyntaxError, TypeError):
            is_range = False
        if not is_range:
            raise CommandError(f"'{each.strip()}' is not a range; write LOW:HIGH, such as 0:1 or -5:")
        found.append((ends[0], ends[1]))
    return tuple(found)


def fits(letters: str, value: Any) -> bool:
    """True if the C type can represent this Python value exactly."""
    if is_buffer(letters):
        return fits_buffer(letters, value)
    code = CODES[letters]
    if code.kind in ("signed", "unsigned"):
        low, high = range_of(code.letters)
        return type(value) in (int, bool) and low <= value <= high
    kinds: dict[str, tuple[type, ...]] = {
        "bool": (bool,), "floating": (float,), "complex": (complex,), "string": (str,)}
    return code.kind == "object" or type(value) in kinds.get(code.kind, ())


class _Parameter(NamedTuple):
    """The type code and range of a parameter. `has_others` is true if infinities and nan are in the range."""

    code: Code
    low: Any = None
    high: Any = None
    has_others: bool = True
    #: The code of the buffer; empty for a single value.
    buffer: str = ""

    def of_element(self) -> _Parameter:
        return self._replace(buffer="")


class _Index:
    """An object that is not an int, but has `__index__`."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Index({self.value})"


def _integer_edges(code: Code) -> list[int]:
    low, high = range_of(code.letters)
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
    """Generates tuples of arguments for one signature. The same seed yields the same tuples."""

    def __init__(
        self,
        letters: Sequence[str],
        seed: int,
        only_fitting: bool,
        largest: int | None = None,
        ranges: Ranges = (),
    ) -> None:
        limits = ranges or ((None if largest is None else -largest, largest),)
        of_each = limits if len(limits) == len(letters) else limits * len(letters)
        self._parameters = [
            _Parameter(CODES[pointee(each)], low, high, not ranges or low is None and high is None,
                       each if is_buffer(each) and each != "*s" else "")
            for each, (low, high) in zip(letters, of_each)
        ]
        self._random = random.Random(seed)
        self._only_fitting = only_fitting

    def all(self, count: int) -> Iterator[tuple[Any, ...]]:
        """Yields `count` tuples. At most half of them are edge cases. Some contain one value that does not fit, but
        never two, because wrappers may differ in which of them they report. The rest are random."""
        if not self._parameters:
            yield from ((),) * count
            return
        made = 0
        chosen = itertools.chain(self._all_edges(count // 4), self._all_misfits())
        for arguments in itertools.islice(chosen, max(count // 2, 1)):
            made += 1
            yield arguments
        for _ in range(count - made):
            arguments = tuple(self._any(each) for each in self._parameters)
            if not self._only_fitting and self._random.random() < 0.05:
                at = self._random.randrange(len(arguments))
                misfit = self._random.choice(self._misfits(self._parameters[at]))
                arguments = (*arguments[:at], misfit, *arguments[at + 1:])
            yield arguments

    def _all_edges(self, most: int) -> Iterator[tuple[Any, ...]]:
        edges = [self._edges(each) for each in self._parameters]
        if math.prod(map(len, edges)) <= min(_MOST_EDGES, most):
            return itertools.product(*edges)
        # If there are too many combinations, each edge case is used once, with random edge cases for the other
        # arguments.
        return self._each_with_others(edges)

    def _all_misfits(self) -> Iterator[tuple[Any, ...]]:
        if self._only_fitting:
            return iter(())
        return self._each_with_others([self._misfits(each) for each in self._parameters])

    def _each_with_others(self, values: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
        """Yields a tuple for every value, with random edge cases for the other arguments."""
        edges = [self._edges(each) for each in self._parameters]
        for at, own in enumerate(values):
            for value in own:
                yield tuple(self._random.choice(other) if i != at else value
                            for i, other in enumerate(edges))

    def _misfits(self, parameter: _Parameter) -> list[Any]:
        code = parameter.code
        if parameter.buffer:
            return self._buffer_misfits(parameter)
        # If there is a range, values that fit are left out, because they may lie outside it.
        misfits = [each for each in _STRANGERS
                   if parameter.has_others or not fits(code.letters, each)]
        # PyPy's C API does not use __index__ for a float.
        if sys.implementation.name != "pypy":
            misfits.append(_Index(5))
        if code.kind in ("signed", "unsigned"):
            low, high = range_of(code.letters)
            misfits += [low - 1, high + 1]
        return misfits

    def _buffer_misfits(self, parameter: _Parameter) -> list[Any]:
        letters = parameter.buffer
        other = "f" if parameter.code.letters != "f" else "d"
        strangers = [*_STRANGERS, make_buffer(f"*k{other}", [1.0, 2.0]), memoryview(bytes(8))]
        if parameter.code.kind not in ("complex", "bool") and parameter.code.size <= 8:
            # PyPy's C API passes memory with gaps to C code as if it were contiguous.
            if sys.implementation.name != "pypy":
                strangers.append(memoryview(make_buffer(letters, [1, 2, 3]))[::2])
        return [each for each in strangers if not fits_buffer(letters, each)]

    def _buffer_edges(self, parameter: _Parameter) -> list[Any]:
        """Returns buffers of different lengths that hold edge cases."""
        elements = self._edges(parameter.of_element())
        few = elements[:: max(len(elements) // 8, 1)]
        lists = [[], *([each] for each in few), elements[:2], elements[:3], elements, few * 5]
        return [make_buffer(parameter.buffer, each) for each in lists]

    def _edges(self, parameter: _Parameter) -> list[Any]:
        code = parameter.code
        if parameter.buffer:
            return self._buffer_edges(parameter)
        if code.kind == "bool":
            return [False, True]
        if code.kind in ("signed", "unsigned"):
            low, high = self._range(parameter)
            return sorted({low, high, *(each for each in _integer_edges(code) if low <= each <= high)})
        if code.kind == "floating":
            return ([edge for edge in _float_edges(code) if self._is_allowed(edge, parameter)]
                    or [float(end) for end in parameter[1:3] if end is not None])
        if code.kind == "complex":
            parts = [0.0, -0.0, 1.0, -1.5, math.inf, math.nan]
            return [complex(real, imaginary) for real in parts for imaginary in parts]
        if code.kind == "string":
            return list(_TEXTS)
        if code.kind == "object":
            return [make() for make in _OBJECTS]
        raise ValueError(f"no arguments are known for '{code.letters}', of kind {code.kind}")

    def _any(self, parameter: _Parameter) -> Any:
        code = parameter.code
        if parameter.buffer:
            element = parameter.of_element()
            length = self._random.choice((0, 1, 2, 3, 4, 7, 16, 33, 100))
            return make_buffer(parameter.buffer, [self._any(element) for _ in range(length)])
        if code.kind == "floating":
            return self._float(parameter)
        if code.kind == "complex":
            return complex(self._float(parameter), self._float(parameter))
        if code.kind in ("signed", "unsigned"):
            return self._integer(parameter)
        if code.kind == "string":
            letters = [chr(self._random.randrange(1, 0x2000)) for _ in range(8)]
            return "".join(letters)[:self._random.randrange(9)]
        return self._random.choice(self._edges(parameter))

    def _range(self, parameter: _Parameter) -> tuple[int, int]:
        low, high = range_of(parameter.code.letters)
        given_low = low if parameter.low is None else math.ceil(parameter.low)
        given_high = high if parameter.high is None else math.floor(parameter.high)
        low, high = max(low, min(given_low, high)), min(high, max(given_high, low))
        return min(low, high), max(low, high)

    def _integer(self, parameter: _Parameter) -> int:
        low, high = self._range(parameter)
        which = self._random.randrange(3)
        if which == 0:
            return self._random.randint(low, high)
        small = max(low, -1000), min(high, 1000)
        if which == 1 and small[0] <= small[1]:
            return self._random.randint(*small)
        return int(self._random.choice(self._edges(parameter)))

    def _float(self, parameter: _Parameter) -> float:
        code, low, high, has_others, _ = parameter
        which = self._random.randrange(3)
        if which == 0:
            bits = self._random.getrandbits(32 if code.size == 4 else 64)
            form, number = ("f", "I") if code.size == 4 else ("d", "Q")
            value = float(struct.unpack(form, struct.pack(number, bits))[0])
            if self._is_allowed(value, parameter):
                return value
        if not has_others:
            return self._random.uniform(high - 20.0 if low is None else low,
                                        low + 20.0 if high is None else high)
        if which == 1:
            middle = 10.0 if high is None else min(10.0, high)
            return self._random.uniform(-middle, middle)
        of_part = parameter._replace(code=CODES[code.letters[-1]])
        return float(self._random.choice(self._edges(of_part)))

    def _is_allowed(self, value: float, parameter: _Parameter) -> bool:
        _, low, high, has_others, _ = parameter
        if has_others and not math.isfinite(value):
            return True
        return (low is None or value >= low) and (high is None or value <= high)
