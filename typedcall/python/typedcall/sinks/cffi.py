"""Makes cffi function pointers from typed functions. Only functions that need no GIL and cannot raise are used,
because cffi releases the GIL around every call. By default, they must also be THREAD_SAFE, because several threads may
call them at once."""

from __future__ import annotations

from typing import Any

from typedcall.calling.choose import offered, usable
from typedcall.record.c_text import c_text
from typedcall.record.codes import CODES, pointee
from typedcall.record.records import Entry, Flags, parse_signature
from typedcall.tools.cffi import FLOATING, ffi, pointer_to

__all__ = ["cffi_function"]

# The names that cffi uses instead of C's.
_NAMES = {"?": "_Bool", "s": "char *"}


def _unknown_to_cffi(entry: Entry) -> str:
    arguments, result = parse_signature(entry.signature)
    letters = {pointee(each) for each in arguments + [result]}
    if "O" in letters:
        return "has objects, which cffi does not know"
    if letters & {"Zf", "Zd", "Zg"}:
        return "has complex numbers, which cffi cannot pass through a pointer"
    unknown = sorted(CODES[each].c_type for each in letters - FLOATING if CODES[each].kind == "floating")
    return f"has a {unknown[0]}, which cffi does not know" if unknown else ""


def _unsafe_for_cffi(entry: Entry) -> str:
    unknown = _unknown_to_cffi(entry)
    if unknown or entry.view().thread_state != "ATTACHED":
        return unknown
    return (
        "is not declared to run in several threads at once (THREAD_SAFE), and cffi releases the GIL; "
        "thread_safe_only=False accepts it"
    )


def cffi_function(
    f: Any, signature: str | None = None, *, thread_safe_only: bool = True
) -> Any:
    """Returns a cffi function pointer that keeps `f` alive. Without a signature, the first entry that cffi can
    call is used. A buffer becomes two arguments: the pointer and the number of elements. `thread_safe_only=False` also
    accepts functions that are not declared thread-safe. The caller must then prevent concurrent calls. Raises
    ValueError and TypeError as typedcall.resolve() does, and ImportError without cffi."""
    ffi()  # raises ImportError before any other error
    # Not a lambda, because CPython 3.12 and 3.13 crash if memory runs out while one is made.
    obstacle = _unsafe_for_cffi if thread_safe_only else _unknown_to_cffi
    entry = usable(f, "cffi", obstacle, offered(f), signature, Flags.ACQUIRES_GIL)[0]
    text = c_text(entry.signature, _NAMES).replace("(", "(*)(", 1)
    return pointer_to(text, entry.address, entry.keep_alive)
