"""Parses the C type of a library's callback. Determines which parameters are values, arrays, lengths or the data
pointer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from typedcall.record import c_parser as c
from typedcall.record.c_text import letters_of_type, parameters_of, parse_function
from typedcall.record.codes import CODES, is_const, pointee

__all__ = ["Parameter", "Shape", "Way", "parse", "ways"]

#: Types of a library, each with the addresses of C functions that return the elements and their number.
Views = dict[str, tuple[int, int]]
#: A tuple (kind, parameter, at, factors, pointer_of, length_of); see `source` in callback.h.
Source = tuple[int, int, int, tuple[int, ...], int, int]

_DATA_NAMES = re.compile(r"(?:user_?|f_?|func_?)?data|params?|p|args?|ctx|context|opaque")
_LIBRARY_TYPES = {
    "sunrealtype": c.Type("double"), "realtype": c.Type("double"), "sunindextype": c.Type("int64_t"),
}  # fmt: skip
_INTEGERS = ("signed", "unsigned")


@dataclass(frozen=True)
class Parameter:
    """A parameter of the C function."""

    name: str
    #: The code, such as "d", "&d", "&kd" or "P"; "P" for a view.
    letters: str
    #: For an array, the factors of its length: indices of parameters, and -1 - n for the number n.
    factors: tuple[int, ...] = ()
    #: For a type of the library, the addresses of the functions that return the elements and their number.
    view: tuple[int, int] | None = None
    #: For a view, true if the elements are const.
    is_const: bool = False

    @property
    def is_array(self) -> bool:
        return bool(self.factors) or self.view is not None

    @property
    def is_written(self) -> bool:
        return self.is_array and not self.is_const and not is_const(self.letters)

    @property
    def buffer(self) -> str:
        """The code of the buffer for this array."""
        if self.view is not None:
            return "*kd" if self.is_const else "*d"
        return "*" + self.letters[1:]


@dataclass(frozen=True)
class Shape:
    """The type of the C function."""

    parameters: tuple[Parameter, ...]
    result: str
    #: The index of the data pointer, or None.
    data: int | None

    @property
    def lengths(self) -> set[int]:
        return {each for one in self.parameters for each in one.factors if each >= 0}

    @property
    def signature(self) -> str:
        return "".join(each.letters for each in self.parameters) + "->" + self.result


@dataclass(frozen=True)
class Way:
    """A way to call a typed function from the C function."""

    #: The signature of the typed function, such as "*kd*d->d".
    asked: str
    sources: tuple[Source, ...]
    #: Pointers that must be NULL, because the typed function has no such parameters.
    unused: tuple[int, ...]
    #: The array for a result that C does not return, or None.
    place: Source | None


def _parameter(given: c.Parameter, views: Views) -> tuple[Parameter, str | None]:
    """Returns the parameter and the text of its array length: "" for an array of unknown length, and None for a
    parameter that is not an array."""
    of, text = given.type, given.text
    length = None
    if of.layers and isinstance(of.layers[0], c.Array):
        length = of.layers[0].length
    view = views.get(of.base) or views.get(of.base.rpartition(" ")[2])
    if view is not None:
        if length is not None:
            raise ValueError(f"an array of arrays: {text!r:.200}")
        return Parameter(given.name, "P", (), view, of.is_const), None
    letters = letters_of_type(of, text)
    if letters == "v" or letters == "O":
        raise ValueError(f"a callback has no parameter {text!r:.200}")
    is_number = letters.startswith("&")
    if length is None and is_number:
        length = ""
    if length is not None and not is_number:
        raise ValueError(f"an array whose elements are not numbers: {text!r:.200}")
    return Parameter(given.name, letters), length


def _factors(text: str, names: dict[str, int], parameters: list[Parameter]) -> tuple[int, ...]:
    made = []
    for each in text.split("*"):
        word = each.strip()
        at = names.get(word)
        if word.isdecimal() and len(word) < 19:  # 18 digits fit in 64 bits
            made.append(-1 - int(word))
        elif at is not None and _is_integer(parameters[at]):
            made.append(at)
        else:
            raise ValueError(
                f"a length is a number, or a parameter that is an integer, not {word!r}"
            )
    return tuple(made)


def _is_integer(parameter: Parameter) -> bool:
    return parameter.letters in CODES and CODES[parameter.letters].kind in _INTEGERS


def _nearest(at: int, parameters: list[Parameter]) -> tuple[int, ...]:
    """Returns the length of an array declared without one: the nearest integer before it, or after it if the first
    array comes before all integers. A compiled shape is used only if parameter_roles::length_of() agrees."""
    integers = [i for i, each in enumerate(parameters) if _is_integer(each)]
    arrays = [i for i, each in enumerate(parameters) if each.letters.startswith("&")]
    before, after = [i for i in integers if i < at], [i for i in integers if i > at]
    if integers and min(arrays) < min(integers) and after:
        return (after[0],)
    return (before[-1],) if before else ()


def parse(text: str, views: Views) -> Shape:
    """Parses the type of a C function or of a pointer to one, such as `double (*)(double x, void *params)`. Raises
    ValueError for any other text."""
    of, _ = parse_function(text, _LIBRARY_TYPES, or_pointer=True)
    given = parameters_of(of, text)
    result = letters_of_type(of._replace(layers=of.layers[1:]), text)
    if result in ("O", "g") or CODES.get(result, CODES["v"]).kind == "complex":
        raise ValueError(f"a callback has no result as in {text!r:.200}")
    parts = [_parameter(each, views) for each in given]
    parameters = [each for each, _ in parts]
    names = {each.name: i for i, each in enumerate(parameters) if each.name}
    data = [i for i, each in enumerate(given)
            if each.type.base == "void" and len(each.type.layers) == 1]  # fmt: skip
    # In a comparator, `const void *a, const void *b` are elements, not data pointers.
    data = ([i for i in data if _DATA_NAMES.fullmatch(parameters[i].name)]
            or [i for i in data if not given[i].type.is_const])  # fmt: skip
    for i, (each, length) in enumerate(parts):
        if length:
            parameters[i] = replace(each, factors=_factors(length, names, parameters))
        elif length is not None:
            parameters[i] = replace(each, factors=_nearest(i, [part for part, _ in parts]))
    return Shape(tuple(parameters), result, data[-1] if data else None)


def _source(shape: Shape, at: int, kind: int, count: int = 0) -> Source:
    parameter = shape.parameters[at]
    return kind, at, count, parameter.factors, *(parameter.view or (0, 0))


_VALUE, _ARRAY, _VIEW, _ELEMENTS = range(4)


def _way(shape: Shape, taken: list[int], result: str, *, raw: bool = False, spread: int = 0,
         unused: tuple[int, ...] = (), place: int | None = None) -> Way:  # fmt: skip
    asked, sources = [], []
    for at in taken:
        parameter = shape.parameters[at]
        if not parameter.is_array or raw:
            kind, letters = _VALUE, parameter.letters
        elif spread and not parameter.is_written:
            kind, letters = _ELEMENTS, spread * pointee(parameter.letters)
        else:
            kind = _ARRAY if parameter.view is None else _VIEW
            letters = parameter.buffer
        asked.append(letters)
        sources.append(_source(shape, at, kind, spread))
    where = _source(shape, place, _ARRAY) if place is not None else None
    return Way("".join(asked) + "->" + result, tuple(sources), unused, where)


def ways(shape: Shape, count: int | None = None) -> Iterator[Way]:
    """Yields the ways to call a function, better ones first. With `count`, the function has `count` parameters and
    receives an array's elements as numbers."""
    parameters, lengths = shape.parameters, shape.lengths
    everything = [at for at in range(len(parameters)) if at != shape.data]
    taken = [at for at in everything if at not in lengths]
    views = [at for at in taken if parameters[at].view is not None]
    written = [at for at in taken if parameters[at].is_written and at not in views]
    read = [at for at in taken if parameters[at].is_array and not parameters[at].is_written]
    own = [shape.result]
    if CODES.get(shape.result, CODES["d"]).kind in _INTEGERS and (written or views):
        own = ["v", shape.result]  # a status
    kinds: list[tuple[list[int], dict[str, tuple[int, ...] | int | None], list[str]]] = [
        (taken, {}, own)
    ]
    if written:
        rest = [at for at in taken if at != written[-1]]
        if own == [shape.result] and shape.result != "v":
            kinds.append((rest, {"unused": (written[-1],)}, own))
        else:
            kinds.append((rest, {"place": written[-1]}, [pointee(parameters[written[-1]].letters)]))
    for names, options, results in kinds:
        spread = 0 if count is None else count - len(names) + 1
        if count is None or len(read) == 1 and spread > 0 and read[0] not in views:
            for result in results:
                yield _way(shape, names, result, spread=spread, **options)  # type: ignore[arg-type]
    if count is None:
        for result in own:
            yield _way(shape, everything, result, raw=True)
