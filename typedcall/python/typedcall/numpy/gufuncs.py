"""Prepares generalised ufuncs from functions that take buffers."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, Callable, NamedTuple

from typedcall.record.codes import CODES, is_buffer, is_const, kind_of, pointee
from typedcall.record.records import Entry
from typedcall.sources.numpy_ import dtype_of
from typedcall.tools.foreign import is_a, type_name

__all__ = ["MOST_WIDE_LOOPS", "TRUTHS", "RowLoop", "core_of", "read_core", "row_loops", "why_no_rows"]

_TUPLES = re.compile(r"\s*\([^()]*\)\s*(,\s*\([^()]*\)\s*)*")
_NAMES = "nmpqrstuvw"
MOST_WIDE_LOOPS = 64
#: For a bool parameter, NumPy casts other numbers to these types, which preserves their truth values.
TRUTHS = ["d", "Zd"]

#: The name of the core dimension of each input and output, or "" for a number.
Core = tuple[tuple[str, ...], tuple[str, ...]]


def read_core(signature: Any) -> Core:
    """Parses a ufunc signature: `(n),()->(n)` becomes (("n", ""), ("n",)). Raises TypeError if the signature is not a
    str, and ValueError if it is faulty or has arrays of several dimensions."""
    if not is_a(signature, str):
        raise TypeError(f"signature must be a str, not '{type_name(signature)}'")
    sides = signature.split("->")
    if len(sides) != 2 or not all(map(_TUPLES.fullmatch, sides)):
        raise ValueError(f"{signature!r:.200} is not a ufunc signature, such as '(n),(m)->()'")
    inputs, outputs = (tuple(each.strip() for each in re.findall(r"\(([^()]*)\)", side))
                       for side in sides)
    for each in inputs + outputs:
        if each and not each.isidentifier():
            raise ValueError(f"a buffer has one dimension with a name, not '({each:.200})'")
    return inputs, outputs


def core_of(entry: Entry) -> Core:
    """Returns the default core, in which each buffer has a length of its own."""
    arguments, _ = entry.python_types()
    names = itertools.chain(_NAMES, map("n{}".format, itertools.count()))
    return tuple(next(names) if is_buffer(each) else "" for each in arguments), ("",)


def _spell(core: Core) -> str:
    return "->".join(",".join(f"({name})" for name in side) for side in core)


def why_no_rows(entry: Entry, core: Core | None) -> str:
    """Returns the reason why an entry with buffers has no loop for this core, or ""."""
    arguments, result = entry.python_types()
    written = [each for each in arguments if is_buffer(each) and not is_const(each)]
    try:
        for each in [*arguments, *([] if result == "v" else [result])]:
            dtype_of(pointee(each) if is_buffer(each) else each)
    except ValueError:
        return "has types other than numbers"
    if core is None:
        if written:
            return ("writes to a buffer: say what is an output, as in signature='(n)->(n)', with the "
                    "outputs in the order of the arguments and the result behind them")
        return "has no result" if result == "v" else ""
    inputs, outputs = core
    results = [] if result == "v" else [""]
    if len(outputs) != len(written) + len(results) or outputs[len(written):] != tuple(results):
        return f"does not match the outputs of {_spell(core)}"
    is_read = len(inputs) == len(arguments)
    read = [each for each in arguments if is_read or each not in written]
    if len(read) != len(inputs) or not outputs:
        return f"does not match the inputs of {_spell(core)}"
    for name, letters in zip(inputs, read):
        if bool(name) != is_buffer(letters):
            return f"does not match the inputs of {_spell(core)}"
    if not all(outputs[: len(written)]):
        return f"does not match the outputs of {_spell(core)}"
    if is_read and written:
        of_written = [name for name, letters in zip(inputs, arguments) if letters in written]
        if of_written != list(outputs[: len(written)]):
            return "writes to a buffer that is an input, too: the two must have the same length"
    return ""


class RowLoop(NamedTuple):
    """One loop of a generalised ufunc."""

    entry: Entry
    core: Core
    #: The codes of each array's elements, with the outputs last. The codes may be wider than those of the entry.
    letters: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Any, ...]:
        return tuple(dtype_of(letters) for letters in self.letters[: len(self.core[0])])

    @property
    def signature(self) -> str:
        return _spell(self.core)

    def row(self, function: Any) -> tuple[Any, ...]:
        """Returns the loop as a tuple for make_ufunc()."""
        entry = self.entry
        operands = tuple(self._operands())
        return entry.signature, int(entry.flags), entry.address, entry.keep_alive, function, operands

    def _operands(self) -> list[tuple[Any, ...]]:
        inputs, outputs = self.core
        names = list(dict.fromkeys(name for name in inputs + outputs if name))
        is_read = len(inputs) == len(self.entry.python_types()[0])
        made: list[tuple[Any, ...]] = []
        next_input, next_output = 0, len(inputs)
        for letters in self.entry.python_types()[0]:
            source = target = dimension = -1
            is_written = is_buffer(letters) and not is_const(letters)
            if is_read or not is_written:
                source, next_input = next_input, next_input + 1
            if is_written:
                target, next_output = next_output, next_output + 1
            if is_buffer(letters):
                array = source if source >= 0 else target
                dimension = names.index((inputs + outputs)[array])
                made.append((pointee(letters), source, target, dimension, _row_maker(letters)))
            else:
                made.append((self.letters[source], source, target, dimension, None))
        return made


def _row_maker(letters: str) -> Callable[[Any], Any]:
    """Returns a function that makes an array for Python from the bytes of a row."""
    import numpy

    dtype = dtype_of(pointee(letters))
    return lambda data: numpy.ndarray((len(data) // dtype.itemsize,), dtype, data)


def row_loops(entries: list[Entry], core: Core | None, may_raise: bool, is_alone: bool) -> list[RowLoop]:
    """Returns the loops of all entries that have the same core as the first. `may_raise` adds loops
    for wider types, which raise if a value does not fit. `is_alone` is true if the function has no
    overloads."""
    made, wide = [], []
    first = core or core_of(entries[0])
    for entry in entries:
        if (core or core_of(entry)) != first:
            continue
        arguments, result = entry.python_types()
        is_read = len(first[0]) == len(arguments)
        read = [each for each in arguments if is_read or not is_buffer(each) or is_const(each)]
        written = [each for each in arguments if is_buffer(each) and not is_const(each)]
        outputs = [pointee(each) for each in written] + ([] if result == "v" else [result])
        own = tuple(map(pointee, read))
        made.append(RowLoop(entry, first, (*own, *outputs)))
        options = [_options(letters, is_alone) for letters in read]
        if may_raise and 1 < math.prod(map(len, options)) <= MOST_WIDE_LOOPS:
            wide += [RowLoop(entry, first, (*each, *outputs))
                     for each in itertools.product(*options) if each != own]
    return made + wide


def _options(letters: str, is_alone: bool) -> list[str]:
    """Returns the codes of numbers from which the argument can be made. A buffer can have only its own type."""
    if is_buffer(letters) or CODES[letters].size > 8:
        return [pointee(letters)]
    by_kind = {"signed": ["l", "L"], "unsigned": ["L", "l"], "floating": ["d"],
               "bool": TRUTHS if is_alone else []}
    return list(dict.fromkeys([letters, *by_kind.get(kind_of(letters), [])]))
