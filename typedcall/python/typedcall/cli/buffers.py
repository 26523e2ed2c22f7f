"""Buffers as arguments in `verify` and `bench`."""
from __future__ import annotations

import array
import importlib
from typing import Any

from typedcall.record.codes import CODES, is_buffer, pointee

__all__ = ["contents", "copied", "make_buffer", "show", "why_no_buffer"]


def why_no_buffer(letters: str) -> str:
    """Returns the reason why a buffer of this type cannot be made, or ""."""
    code = CODES[pointee(letters)]
    if code.kind == "complex" or code.size > 8:
        try:
            importlib.import_module("numpy")
        except ImportError:
            return f"takes a buffer of {code.c_type}, which only NumPy makes, and it is not installed"
    return ""


def make_buffer(letters: str, values: list[Any]) -> Any:
    """Makes a buffer with these elements; for const bytes this is a bytes object."""
    code = CODES[pointee(letters)]
    if code.kind == "bool":
        return memoryview(bytearray(values)).cast("?")
    if letters == "*kB":
        return bytes(values)
    if code.kind == "complex" or code.size > 8:
        numpy = importlib.import_module("numpy")
        kind = "c" if code.kind == "complex" else "f"
        with numpy.errstate(all="ignore"):  # a double may be too large for a float
            return numpy.array(values, f"{kind}{code.size}")
    # array.array lacks the codes "n" and "N", but has others of the same widths.
    of_width = (each for each in "bBhHiIlLqQfd" if CODES[each].kind == code.kind)
    return array.array(next(each for each in of_width if CODES[each].size == code.size), values)


def copied(letters: list[str], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the arguments with copies of the buffers."""
    return tuple(_copy(value) if is_buffer(each) else value
                 for each, value in zip(letters, arguments)) + arguments[len(letters):]


def _copy(value: Any) -> Any:
    if type(value) in (array.array, bytearray):
        return value[:]
    if type(value) is memoryview and not value.readonly and value.c_contiguous and value.nbytes:
        made: Any = memoryview(bytearray(value.tobytes()))
        return made.cast(value.format)
    return value.copy() if hasattr(value, "__array_interface__") else value


def contents(letters: list[str], arguments: tuple[Any, ...]) -> list[Any]:
    """Returns the contents of the buffers."""
    return [value.tolist() for each, value in zip(letters, arguments) if is_buffer(each) and hasattr(value, "tolist")]


def show(arguments: tuple[Any, ...]) -> str:
    """Returns the repr() of the arguments, with the contents of memoryviews."""
    parts = [f"memoryview of {each.tolist()}" if type(each) is memoryview else repr(each)
             for each in arguments]
    return "({})".format(", ".join(parts) + ("," if len(parts) == 1 else ""))
