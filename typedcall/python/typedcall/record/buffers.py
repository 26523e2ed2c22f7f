"""Matches objects that export memory (PEP 3118) with buffer types."""
from __future__ import annotations

import functools
from typing import Any

from typedcall.record.codes import CODES, is_const, pointee

__all__ = ["fits_buffer", "formats_of"]


@functools.cache
def formats_of(letters: str) -> frozenset[str]:
    """Returns the formats that the elements of a buffer type may have. The size must also match. Only prefixes for
    this machine's byte order are accepted, as in typedcall/convert/pointer.h."""
    code = CODES[pointee(letters)]
    same = [each.letters for each in CODES.values() if each.kind == code.kind]
    if code.size == 1 and code.kind in ("signed", "unsigned"):
        same.append("c")
    return frozenset(mark + each for mark in ("", "@", "=", "<", "^") for each in same)


def fits_buffer(letters: str, value: Any) -> bool:
    """True if a buffer parameter accepts `value`. Alignment is not checked."""
    code = CODES[pointee(letters)]
    if code.kind == "string":
        return isinstance(value, str)
    try:
        view = memoryview(value)
    except TypeError:
        return False
    return (view.format in formats_of(letters) and view.itemsize == code.size and view.ndim == 1
            and view.c_contiguous and (is_const(letters) or not view.readonly))
