"""Decides which entries PyPy can call through cffi, and makes cffi function pointers for them."""
from __future__ import annotations

from typing import Any, Callable

from typedcall.pypy.buffers import buffer_type
from typedcall.record.codes import CODES, is_buffer, pointee
from typedcall.record.records import PROMISES, Entry, Flags, parse_signature
from typedcall.tools.cffi import C_TYPES, ffi, pointer_to

__all__ = ["native_pointer", "new_place", "says_threads", "why_not"]


def _c_type(letters: str) -> str | None:
    """Returns cffi's name for a number type or void. Returns None for types that a shim cannot pass: pointers,
    strings, objects, complex numbers and long doubles (which cffi does not convert to floats)."""
    if letters == "v":
        return "void"
    code = CODES.get(letters)
    return None if code is None else C_TYPES.get((code.kind, code.size))


def why_not(entry: Entry) -> str | None:
    """Returns the reason why an entry cannot be called through cffi, or None. During a call, cffi does not hold the
    GIL, and it does not check for exceptions. If a function falls back, the caller calls the Python function."""
    asks = entry.flags.requirements(Flags.FALLS_BACK)
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
    """True if the entry is known to allow several threads at once. PyPy releases the GIL around a cffi call. A pure
    function has no effects that other threads could see."""
    return bool(entry.flags & PROMISES)


def native_pointer(signature: str, address: int, keep_alive: Any = None) -> Any:
    """Returns a cffi function pointer that keeps `keep_alive` alive. Must be called only if why_not() returned
    None."""
    arguments, result = parse_signature(signature)
    parameters = ", ".join(map(_parameter, arguments)) or "void"
    return pointer_to(f"{_c_type(result)}(*)({parameters})", address, keep_alive)


def _parameter(letters: str) -> str:
    if is_buffer(letters):
        return f"{buffer_type(letters)} *, long"
    return f"{_c_type(pointee(letters))} *" if letters[0] == "&" else str(_c_type(letters))


def new_place(entry: Entry) -> Callable[[], Any]:
    """Returns a function that allocates memory for the result of an entry that may fall back."""
    ctype = ffi().typeof(f"{_c_type(entry.python_types()[1])} *")
    return lambda: ffi().new(ctype)
