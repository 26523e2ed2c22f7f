"""Checks and reads the arguments of tag()."""
from __future__ import annotations

import operator
import types
from collections.abc import Iterable, Sequence
from typing import Any, Callable

from typedcall.places.pointers import read_pointer
from typedcall.record.c_text import parse_declaration
from typedcall.record.codes import CASTINGS, CODES
from typedcall.record.records import OF_TAGS, Entry, Flags, parse_signature, row_of
from typedcall.tools.foreign import exact_text, is_a, name_of, show, type_name, type_of

__all__ = ["Row", "bound_method_error", "conflict", "kept_by_tag", "read_flags", "read_rows", "read_texts"]

#: A row of a tag: signature, flags and address.
Row = tuple[str, int, int]


def read_flags(flags: int, what: str = "flags") -> int:
    """Returns the flags as an int. `what` is the name in error messages. Raises TypeError if they are not an int, and
    ValueError if they exceed 32 bits."""
    if not hasattr(type_of(flags), "__index__"):
        raise TypeError(f"{what} must be typedcall.Flags, not '{type_name(flags)}'")
    flags = operator.index(flags)
    if not 0 <= flags < 1 << 32:
        raise ValueError(f"unusable flags {flags:#x}: flags have 32 bits")
    return flags


def read_texts(signature: str, casting: str) -> tuple[str, str]:
    """Returns the texts as exact strs. Raises TypeError if either is not a str, and ValueError for an unknown
    casting."""
    if not is_a(signature, str):
        parse_signature(signature)
    if not is_a(casting, str):
        raise TypeError(f"casting must be a str, not '{type_name(casting)}'")
    casting = exact_text(casting)
    if casting not in CASTINGS:
        *others, last = map(repr, CASTINGS)
        raise ValueError(f"casting is {', '.join(others)} or {last}, not {casting!r:.200}")
    return exact_text(signature), casting


def _letters(text: Any) -> str:
    """Converts a C declaration to letters: `double(double, int)` becomes "di->d". Text in letters stays unchanged."""
    if is_a(text, str):
        text = exact_text(text)
        if "(" in text:
            text = parse_declaration(text).signature
    try:
        parse_signature(text)
    except ValueError as error:
        if "unknown type code" not in str(error):
            raise
        known = ", ".join(f"{letters} {code.c_type}" for letters, code in CODES.items())
        raise ValueError(f"{error}; there are {known}, & in front for a pointer to one of them, "
                         "* for a buffer, k behind both for const") from None
    return str(text)


def bound_method_error(f: Any) -> TypeError:
    """Returns the TypeError that tag() raises for a bound method."""
    return TypeError(
        f"{show(f)} is a new object on each access, and its tag would die with it: tag its "
        "__func__, or an object that stays"
    )


def conflict(f: Any, present: list[Entry], rows: list[Row]) -> ValueError:
    """Returns the ValueError that tag() raises if `f` has other entries than these rows."""
    pairs = list(zip(map(row_of, present), rows))
    at = next((i for i, (old, new) in enumerate(pairs) if old != new), len(pairs) - 1)
    (text, flags, address), (offered, new_flags, new_address) = pairs[at]
    is_tag = all(entry.place in OF_TAGS for entry in present)
    return ValueError(
        f"{name_of(f)} is tagged already: '{text}' at {address:#x}, {Flags(flags).text} (overload {at + 1} of "
        f"{len(present)}), stands, '{offered}' at {new_address:#x}, {Flags(new_flags).text} (of {len(rows)}), was "
        "offered" + ("; to replace the tag, call untag() first" if is_tag else "")
    )


def kept_by_tag(f: Any, kept: Iterable[Any]) -> tuple[Any, ...] | None:
    """Returns the objects of `kept` that a tag of `f` must keep alive. `f` is left out, because the garbage collector
    cannot see references in the interpreter's table."""
    found = {id(None): None, id(f): f}  # neither None nor `f` is kept
    for each in kept:
        # The entry of a pointer that shares memory keeps several objects alive.
        for part in each if type(each) is tuple else (each,):
            found.setdefault(id(part), part)
    return tuple(found.values())[2:] or None


def read_rows(
    f: Any,
    signature: str | Sequence[str],
    address: Any,
    flags: int | Sequence[int],
    entries: Callable[[Any], list[Entry]],
) -> tuple[list[Row], tuple[Any, ...] | None]:
    """Returns the rows for `f`, and the objects that they keep alive. Raises TypeError and ValueError as tag() does.
    `entries` returns the entries of an object."""
    given: Any = signature
    if not is_a(given, str) and (is_a(address, str) or (is_a(f, str) and callable(given))):
        raise TypeError(
            "the arguments of tag() are swapped: the Python function comes first, then the "
            "signature, then the C function's address"
        )
    if not callable(f):
        raise TypeError(f"only callables are tagged, not {show(f)}")
    if is_a(f, types.MethodType):
        raise bound_method_error(f)
    several: Any = flags
    of_each = None
    # Flags are ints, but also iterable from Python 3.11 on.
    if hasattr(type_of(several), "__iter__") and not hasattr(type_of(several), "__index__"):
        of_each = [read_flags(each) for each in several]
    of_all = 0 if of_each is not None else read_flags(several)
    if is_a(given, str):
        texts: list[Any] = [given]
        pointers: list[Any] = [address]
    else:
        if not hasattr(type_of(given), "__iter__"):
            parse_signature(given)
        if not hasattr(type_of(address), "__iter__"):
            raise TypeError(
                "several signatures need a sequence of addresses, "
                f"not '{type_name(address)}'"
            )
        texts, pointers = list(given), list(address)
    if len(texts) != len(pointers):
        raise ValueError(
            f"{len(texts)} signatures and {len(pointers)} addresses: each overload has one of each"
        )
    if of_each is not None and len(of_each) != len(texts):
        raise ValueError(f"{len(texts)} signatures and {len(of_each)} flags: one for each, or for all")
    rows, kept = [], []
    for text, pointer, own in zip(texts, pointers, of_each or [of_all] * len(texts)):
        text = _letters(text)
        number, of_pointer, keep_alive = read_pointer(pointer, text, entries, own)
        rows.append((text, own | int(of_pointer), number))
        # If `f` is itself the pointer, it keeps its function alive, unless it shares memory with other objects.
        if pointer is not f or type(keep_alive) is tuple:
            kept.append(keep_alive)
    return rows, kept_by_tag(f, kept)
