"""PyPy: a buffer argument of a C function that is called through cffi: a pointer to the exporter's own
memory, and how many elements there are."""
from __future__ import annotations

import array
from typing import Any, Callable

from typedcall.record.buffers import fits_buffer, formats_of
from typedcall.record.codes import CODES, is_const, pointee
from typedcall.tools.cffi import C_TYPES, ffi

__all__ = ["buffer_type", "release", "taker"]


def buffer_type(letters: str) -> str | None:
    """The C type of the elements, as cffi reads it; None for those that it has no memory of."""
    code = CODES[pointee(letters)]
    return "char" if code.kind == "string" else C_TYPES.get((code.kind, code.size))


def release(pointer: Any) -> None:
    """The exporter may change its size again."""
    ffi().release(pointer)


def taker(letters: str) -> Callable[[Any], Any]:
    """Makes an array of cffi's of an exporter's elements, which is released behind the call; None for what the
    wrapper would refuse, or knows more of. What bytes and arrays are is known without a look."""
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
    # Those of array.array that are of the very width: "l" and "q", say.
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
        # A C bool has one of two bytes, a buffer's item any.
        if len(made) and (not is_aligned or code.kind == "bool" and max(ffi().buffer(made)[:]) > 1):
            release(made)
            return None
        return made

    return take
