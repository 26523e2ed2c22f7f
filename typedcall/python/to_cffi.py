"""A typed function as a cffi function pointer. cffi lets the GIL go around every call, so only
functions that need no GIL and cannot raise are given to it."""

from __future__ import annotations

from typing import Any, Optional

from typedcall._c_text import c_text
from typedcall._choose import choose
from typedcall._records import Entry, Flags, parse_signature

__all__ = ["cffi_function"]

# cffi's own names, where C's are spelt otherwise.
_NAMES = {"?": "_Bool", "s": "char *"}


def _unknown_to_cffi(entry: Entry) -> str:
    arguments, result = parse_signature(entry.signature)
    letters = {each.lstrip("&") for each in arguments + [result]}
    if "O" in letters:
        return "has objects, which cffi does not know"
    if letters & {"Zf", "Zd", "Zg"}:
        return "has complex numbers, which cffi cannot pass through a pointer"
    return ""


def cffi_function(function: Any, signature: Optional[str] = None) -> Any:
    """A cffi function pointer, which keeps `function` alive. Without a signature the first entry
    that cffi can call. ValueError, TypeError as typedcall.resolve(); ImportError without cffi."""
    import _cffi_backend

    entry = choose(function, signature, Flags.ACQUIRES_GIL, "cffi", _unknown_to_cffi)
    ffi = _cffi_backend.FFI()
    text = c_text(entry.signature, _NAMES).replace("(", "(*)(", 1)
    kept = entry.keep_alive if entry.keep_alive is not None else function
    # A "destructor" that does nothing, but lives, with what it holds, as long as the pointer.
    return ffi.gc(ffi.cast(text, entry.address), lambda pointer, kept=kept: None)
