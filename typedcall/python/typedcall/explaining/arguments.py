"""Reads the arguments of typedcall.explain(): types, their names, and values."""

from __future__ import annotations

import operator
import sys
from typing import Any, NamedTuple

from typedcall.record.choice import Kind
from typedcall.record.codes import CODES, kind_of, kind_of_object, letters_for, range_of
from typedcall.tools.foreign import attribute, exact_text, imported_class, is_a, show, type_of

__all__ = ["Given", "read"]

#: What Python's int may be; beyond all C types.
_ANY_INT = (-1 << 127, (1 << 128) - 1)


class Given(NamedTuple):
    """One argument of explain()."""

    text: str
    kind: Kind
    #: The code of a number of a C type, or "".
    letters: str = ""
    #: True for an array of such numbers.
    is_array: bool = False
    #: The value, or None if a type was given.
    value: Any = None


def _of_letters(letters: str, text: str, is_array: bool = False, value: Any = None) -> Given:
    """Describes a number of a C type."""
    kind = kind_of(letters)
    if kind in ("signed", "unsigned"):
        return Given(text, Kind("INT", range_of(letters)), letters, is_array, value)
    if kind == "bool":
        return Given(text, Kind("BOOL", (0, 1)), letters, is_array, value)
    names = {"f": "C_FLOAT", "Zf": "C_COMPLEX"}
    return Given(text, Kind(names.get(letters, "FLOAT" if kind == "floating" else "COMPLEX")), letters, is_array, value)


def _of_dtype(dtype: Any, text: str, is_array: bool, value: Any) -> Given:
    kind = {"b": "bool", "i": "signed", "u": "unsigned", "f": "floating", "c": "complex"}.get(dtype.kind)
    if kind is None:
        return Given(text, Kind("OTHER"), "", is_array, value)
    # All sinks see a float16 as a float.
    size = 4 if (kind, dtype.itemsize) == ("floating", 2) else dtype.itemsize
    return _of_letters(letters_for(kind, size), text, is_array, value)


def _number_named(name: str) -> str | None:
    """Returns the code of a number's type, by NumPy's name or by its code."""
    usual = {"float": "d", "complex": "Zd", "bool": "?", "float16": "f", "longdouble": "g", "clongdouble": "Zg"}
    if name in CODES and kind_of(name) in ("bool", "signed", "unsigned", "floating", "complex"):
        return name
    kinds = {"int": "signed", "uint": "unsigned", "float": "floating", "complex": "complex"}
    kind = name.rstrip("0123456789")
    bits = int(name[len(kind):] or 0)
    try:
        return usual.get(name) or letters_for(kinds[kind], bits // 8)
    except (KeyError, ValueError):
        return None


def _of_type(name: str) -> Given:
    """Describes a value of the named type. Raises ValueError for an unknown name."""
    ints = {"int": _ANY_INT, "int128": (_ANY_INT[0], -_ANY_INT[0] - 1), "uint128": (0, _ANY_INT[1])}
    if name in ints:
        return Given(name, Kind("INT", ints[name]))
    if name in ("str", "bytes", "object", "None"):
        return Given(name, Kind("STR" if name == "str" else "OTHER"), "B" if name == "bytes" else "", name == "bytes")
    is_array = name.endswith("[]")
    letters = _number_named(name[:-2] if is_array else name)
    if letters is None:
        raise ValueError(f"{name!r:.200} is not the name of a type, such as int64, float32, float, str or uint8[]")
    return _of_letters(letters, name, is_array)


def read(given: Any) -> Given:
    """Describes an argument of explain(): a type or its name, or a value."""
    if is_a(given, str):
        return _of_type(exact_text(given))
    if any(given is each for each in (bool, int, float, complex, str, bytes, object)):
        return _of_type(given.__name__)
    numpy: Any = sys.modules.get("numpy")
    generic, kinds = imported_class("numpy", "generic"), imported_class("numpy", "dtype")
    if is_a(given, kinds) or is_a(given, type) and generic is not None and type.__subclasscheck__(generic, given):
        dtype = numpy.dtype(given)
        return _of_dtype(dtype, str(dtype), False, None)
    if is_a(given, imported_class("numpy", "ndarray")) and given.shape:
        return _of_dtype(given.dtype, f"{given.dtype}[]", True, given)
    name = kind_of_object(given)
    if name == "OTHER" and attribute(type_of(given), "__complex__") is not None:
        name = "HAS_COMPLEX"
    limits = (0, 1) if name == "BOOL" else (0, 0)
    if name.startswith("INT"):
        limits = (operator.index(given), operator.index(given))
    is_bytes = is_a(given, bytes)
    return Given(show(given), Kind(name, limits), "B" if is_bytes else "", is_bytes, given)
