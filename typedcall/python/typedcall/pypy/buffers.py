"""Passes buffers to C functions through cffi on PyPy."""
from __future__ import annotations

import array
from typing import Any, Callable

from typedcall.record.buffers import fits_buffer, formats_of
from typedcall.record.codes import CODES, is_const, pointee
from typedcall.tools.cffi import C_TYPES, ffi

__all__ = ["buffer_type", "release", "taker"]


def buffer_type(letters: str) -> str | None:
    """Returns cffi's name for the elements' C type, or None if cffi cannot view such memory."""
    code = CODES[pointee(letters)]
    return "char" if code.kind == "string" else C_TYPES.get((code.kind, code.size))


def release(pointer: Any) -> None:
    """Releases the buffer, so that its exporter can be resized again."""
    ffi().release(pointer)


def taker(letters: str) -> Callable[[Any], Any]:
    """Returns a function that makes a cffi array of an exporter's elements. The array must be released after the call.
    The function returns None for exporters that the wrapper must check or would refuse."""
    from_buffer = ffi().from_buffer
    if letters == "*s":

        def take_text(value: Any) -> Any:
            try:
                return from_buffer("char[]", value.encode()) if type(value) is str else None
            except UnicodeError:
                return None

        return take_text
    code = CODES[pointee(letters)]
    of_bytes = is_const(letters) and (code.kind, code.size) == ("unsigned", 1)
    array_of_bytes = ffi().typeof("unsigned char[]")
    elements = ffi().typeof(f"{buffer_type(letters)}[]")
    # The codes of array.array with this width, such as "l" and "q".
    formats = {each for each in "bBhHiIlLqQfd" if array.array(each).itemsize == code.size
               and each in formats_of(letters)}

    def take(value: Any) -> Any:
        try:
            if type(value) is array.array and value.typecode in formats:
                return from_buffer(elements, value)
            if of_bytes and type(value) is bytes:
                return from_buffer(array_of_bytes, value)
            if not fits_buffer(letters, value):
                return None
            made = from_buffer(elements, value)
        except (TypeError, ValueError, BufferError):
            return None
        is_aligned = int(ffi().cast("uintptr_t", made)) % code.alignment == 0
        # A C bool is 0 or 1, but an item of a buffer can be any byte.
        if len(made) and (not is_aligned or code.kind == "bool" and max(ffi().buffer(made)[:]) > 1):
            release(made)
            return None
        return made

    return take
