"""PyPy: a buffer argument of a C function that is called through cffi: a pointer to the exporter's own
memory, and how many elements there are."""
from __future__ import annotations

import array
from typing import Any, Callable

from typedcall.record.buffers import formats_of
from typedcall.record.codes import CODES, is_const, pointee
from typedcall.tools.cffi import C_TYPES, ffi

__all__ = ["buffer_of", "buffer_type", "release", "taker"]

def buffer_type(letters: str) -> str | None:
    """The C type of the elements, as cffi reads it; None for those that it has no memory of."""
    code = CODES[pointee(letters)]
    return "char" if code.kind == "string" else C_TYPES.get((code.kind, code.size))


def release(pointer: Any) -> None:
    """The exporter may change its size again."""
    ffi().release(pointer)


def buffer_of(letters: str, value: Any) -> Any:
    """The elements of an exporter, as an array of cffi's that is released behind the call. TypeError,
    BufferError and ValueError as the wrapper's."""
    code = CODES[pointee(letters)]
    if code.kind == "string":
        if not isinstance(value, str):
            raise TypeError(f"a str is needed, not '{type(value).__name__}'")
        return ffi().from_buffer("char[]", value.encode())
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(
            f"a buffer of '{code.letters}' items is needed, not '{type(value).__name__}'"
        ) from None
    if view.readonly and not is_const(letters):
        raise BufferError("Object is not writable.")
    if not view.c_contiguous:
        raise BufferError("the buffer is not contiguous")
    if view.itemsize != code.size or view.format not in formats_of(letters):
        raise TypeError(f"a buffer of '{code.letters}' items is needed, not of '{view.format}' "
                        f"({view.itemsize} bytes)")
    if view.ndim != 1:
        raise ValueError(f"a buffer of 1 dimension is needed, not of {view.ndim}")
    made = ffi().from_buffer(f"{buffer_type(letters)}[]", view)
    if code.alignment > 1 and view.nbytes and int(ffi().cast("uintptr_t", made)) % code.alignment:
        raise ValueError(f"the buffer's items are not aligned to {code.alignment} bytes")
    if code.kind == "bool":
        _make_bools(ffi().buffer(made), is_const(letters))
    return made


def _make_bools(items: Any, is_const: bool) -> None:
    """A C bool has one of two bytes, a buffer's item any: as typedcall/convert/pointer.h."""
    for at, byte in enumerate(items[:]):
        if byte > 1 and is_const:
            raise ValueError(f"item {at} of the buffer is no bool: its byte is {byte}")
        if byte > 1:
            items[at] = b"\1"


def taker(letters: str) -> Callable[[Any], Any]:
    """buffer_of(), but None for what the wrapper would refuse, or knows more of: for a shim, which
    asks it. What bytes and arrays are is known without a look."""
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
            return buffer_of(letters, value)
        except (TypeError, ValueError, BufferError):
            return None

    return take
