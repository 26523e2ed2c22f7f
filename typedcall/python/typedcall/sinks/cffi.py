"""A typed function as a cffi function pointer. cffi lets the GIL go around every call, so only
functions that need no GIL and cannot raise are given to it; and, because without the GIL several
threads may then be in them at once, only those that say that they may (THREAD_SAFE).
Whoever calls from one thread only, or has a lock, gets the others by `thread_safe_only=False`."""

from __future__ import annotations

from typing import Any

from typedcall.calling.choose import offered, usable
from typedcall.record.c_text import c_text
from typedcall.record.codes import pointee
from typedcall.record.records import Entry, Flags, parse_signature
from typedcall.tools.cffi import ffi, pointer_to

__all__ = ["cffi_function"]

# cffi's own names, where C's are spelt otherwise.
_NAMES = {"?": "_Bool", "s": "char *"}


def _unknown_to_cffi(entry: Entry) -> str:
    arguments, result = parse_signature(entry.signature)
    letters = {pointee(each) for each in arguments + [result]}
    if "O" in letters:
        return "has objects, which cffi does not know"
    if letters & {"Zf", "Zd", "Zg"}:
        return "has complex numbers, which cffi cannot pass through a pointer"
    return ""


def _unsafe_for_cffi(entry: Entry) -> str:
    unknown = _unknown_to_cffi(entry)
    if unknown or entry.view().hold != "THREAD":
        return unknown
    return (
        "has not said that it may run in several threads at once (THREAD_SAFE), and cffi lets the "
        "GIL go; thread_safe_only=False takes it all the same"
    )


def cffi_function(
    function: Any, signature: str | None = None, *, thread_safe_only: bool = True
) -> Any:
    """A cffi function pointer, which keeps `function` alive. Without a signature the first entry
    that cffi can call. A buffer is two arguments: the pointer to its first element, and the number
    of elements. With `thread_safe_only=False` also what has not said that it may run in
    several threads at once: then it is the caller who sees to it that it does not. ValueError,
    TypeError as typedcall.resolve(); ImportError without cffi."""
    ffi()  # first of all: without cffi nothing else matters
    # No lambda: CPython 3.12 and 3.13 do not survive making one when memory runs out.
    obstacle = _unsafe_for_cffi if thread_safe_only else _unknown_to_cffi
    entry = usable(function, "cffi", obstacle, offered(function), signature, Flags.ACQUIRES_GIL)[0]
    text = c_text(entry.signature, _NAMES).replace("(", "(*)(", 1)
    return pointer_to(text, entry.address, entry.keep_alive)
