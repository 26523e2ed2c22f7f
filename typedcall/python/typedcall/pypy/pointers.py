"""PyPy: which entries are called through cffi, and their C functions as cffi pointers."""
from __future__ import annotations

from typing import Any, Callable

from typedcall.pypy.buffers import buffer_type
from typedcall.record.codes import CODES, is_buffer, pointee
from typedcall.record.records import PROMISES, Entry, Flags, parse_signature
from typedcall.tools.cffi import C_TYPES, ffi, pointer_to

__all__ = ["native_pointer", "new_place", "says_threads", "why_not"]


def _c_type(letters: str) -> str | None:
    """The C type of a number, or void, as cffi reads it. None for what a shim cannot pass:
    pointers, strings, objects, complex numbers, and long doubles, of which cffi does not make a
    float."""
    if letters == "v":
        return "void"
    code = CODES.get(letters)
    return None if code is None else C_TYPES.get((code.kind, code.size))


def why_not(entry: Entry) -> str | None:
    """Why a call of the entry cannot go through cffi; None if it can. The GIL is not held in such a
    call, and an exception set there would come out somewhere else. What falls back calls the Python
    function itself."""
    asks = entry.flags.asks(Flags.FALLS_BACK)
    if asks:
        return asks
    arguments, result = entry.python_types()
    for letters in arguments + [result]:
        if is_buffer(letters):
            if buffer_type(letters) is None:
                return f"has a buffer of {CODES[pointee(letters)].c_type} in its signature"
        elif _c_type(letters) is None:
            code = CODES.get(letters)
            what = code.c_type if code else "pointer"
            return f"has a {what} in its signature"
    return None


def says_threads(entry: Entry) -> bool:
    """Has somebody said that several threads may be in it at once? PyPy lets the GIL go around a cffi
    call. What is pure has no effect that others could see."""
    return bool(entry.flags & PROMISES)


def native_pointer(signature: str, address: int, keep_alive: Any = None) -> Any:
    """The C function as a cffi function pointer that keeps `keep_alive`. The caller has asked
    why_not()."""
    arguments, result = parse_signature(signature)
    parameters = ", ".join(map(_parameter, arguments)) or "void"
    return pointer_to(f"{_c_type(result)}(*)({parameters})", address, keep_alive)


def _parameter(letters: str) -> str:
    if is_buffer(letters):
        return f"{buffer_type(letters)} *, long"
    return f"{_c_type(pointee(letters))} *" if letters[0] == "&" else str(_c_type(letters))


def new_place(entry: Entry) -> Callable[[], Any]:
    """Makes the places where an entry that falls back puts its values."""
    ctype = ffi().typeof(f"{_c_type(entry.python_types()[1])} *")
    return lambda: ffi().new(ctype)
