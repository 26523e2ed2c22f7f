"""Reads SciPy's LowLevelCallables as entries. The name of the capsule is the C signature. The flags come from the
ctypes, cffi or typed function inside."""

from __future__ import annotations

import itertools
from typing import Any

from typedcall.record.c_text import parse_declaration
from typedcall.record.capsules import capsule_address, capsule_name, is_capsule
from typedcall.record.records import Entry, Flags, Found
from typedcall.tools.foreign import attribute, imported_class, is_a

__all__ = ["entries"]


def _is_low_level_callable(obj: Any) -> bool:
    return is_a(obj, imported_class("scipy._lib._ccallback", "LowLevelCallable"))


def _flags_of(obj: Any, text: str) -> Flags:
    from typedcall.sources import cffi_, ctypes_

    made_of, flags = obj, Flags(0)
    while _is_low_level_callable(made_of):
        known = attribute(made_of, "typed_flags")
        is_typed = is_a(known, Flags)
        flags |= known if is_typed else Flags(0)
        # A LowLevelCallable may be made from another LowLevelCallable.
        items = itertools.islice(tuple.__iter__(made_of), 1, None)
        made_of = None if is_typed else next(items, None)
    for each in [*(ctypes_.entries(made_of) or []), *(cffi_.entries(made_of) or [])]:
        if isinstance(each, Entry):
            return each.flags
    # A SciPy callback that returns an int reports an error as 0 with an exception set, so it needs the GIL. A
    # callback that returns a double cannot report an error.
    return flags | Flags.NEEDS_THREAD | Flags.DIFFERS if text.startswith("int (") else flags


def entries(obj: Any) -> Found:
    """Returns the entries of a LowLevelCallable, or None for any other object. A pointer to user data is an ordinary
    argument, for which callers pass `obj.user_data`."""
    if not _is_low_level_callable(obj):
        return None
    capsule: Any = next(tuple.__iter__(obj), None)
    if not is_capsule(capsule):
        return ["its first item is not a capsule"]
    text = capsule_name(capsule) or ""
    if "__pyx_skip_dispatch" in text:
        from typedcall.sources import cython_

        return [cython_.entry_of_capsule(capsule, _flags_of(obj, text), obj)]
    try:
        declared = parse_declaration(text)
    except ValueError as error:
        return [str(error)]
    flags = _flags_of(obj, text)
    if "O" in (*declared.arguments, declared.result):
        # Only Cython's cdef functions have objects as arguments. The capsule's name does not show the objects'
        # classes.
        flags |= Flags.NEEDS_THREAD | Flags.MAY_RAISE | Flags.DIFFERS
    return [Entry(declared.signature, flags, capsule_address(capsule), "SciPy", obj)]
