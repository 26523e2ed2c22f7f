"""PyPy's half of typedcall/calling/api.py. Entries come from METH_TYPED metadata, or from the table of tags in this
module. The functions are documented in typedcall/calling/cpython_backend.py."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

from typedcall.native import _native
from typedcall.places.tagging import Row, bound_method_error, conflict, kept_by_tag
from typedcall.pypy.function import TypedFunction
from typedcall.pypy.originals import wrapper_of
from typedcall.pypy.pointers import why_not
from typedcall.record.records import (
    BARE_LAYOUT,
    OBJECT_ROW,
    PROMISES,
    Entry,
    Flags,
    matching,
    parse_signature,
    row_of,
)
from typedcall.tools.foreign import attribute, name_of, show, type_name
from typedcall.tools.identity import IdentityTable

__all__ = [
    "HAS_SIDE_TABLE", "CAPABILITIES", "TypedFunction", "kept_with", "obstacle", "own_entries", "pickle_by",
    "refuse", "resolve_among", "resolve_own", "tag", "untag",
]

HAS_SIDE_TABLE = False

#: None stands for everything that cffi can call, which does not depend on flags alone.
CAPABILITIES = None


class _Tag(NamedTuple):
    """The tag of a callable: rows of (signature, flags, address) and the object to keep alive."""

    rows: list[Row]
    keep_alive: Any


_tags: IdentityTable[_Tag] = IdentityTable()


def _is_bound_builtin(function: Any) -> bool:
    return type_name(function) == "builtin method"


def _wrapper(f: Any) -> Any:
    wrapper = wrapper_of(f)
    return f if wrapper is None else wrapper


def pickle_by(reduce: Callable[..., Any]) -> None:
    TypedFunction.reduce = staticmethod(reduce)


def own_entries(f: Any) -> list[Entry]:
    function = _wrapper(f)
    # Only objects of known types are passed to the extension, because some of PyPy's own objects crash any extension.
    read = attribute(function, "__func__") if _is_bound_builtin(function) else function
    # `in` would call a metaclass's `__eq__`.
    is_readable = any(type(read) is each for each in _native.TYPES)
    rows = _native.entries(read) if is_readable else []
    existing = _tags.get(function)
    if existing is not None:
        keep = (function, existing.keep_alive)
        # A tag replaces an entry for the same C function whose layout has no flags.
        told = [(text, at) for text, _, at in existing.rows]
        rows = [row for row in rows if row[3] != BARE_LAYOUT or (row[0], row[2]) not in told]
        rows += [(*row, OBJECT_ROW, keep) for row in existing.rows]
    return [Entry(text, Flags(flags), at, place, keep) for text, flags, at, place, keep in rows]


def resolve_own(f: Any, asked: str, handled: int | None, casting: str) -> TypedFunction | None:
    return resolve_among(f, own_entries(f), asked, handled, casting)


def resolve_among(f: Any, found: list[Entry], asked: str, handled: int | None, casting: str) -> TypedFunction | None:
    parse_signature(asked)
    for entry in matching(found, asked, casting):
        if not obstacle(entry, handled):
            return TypedFunction(f, entry, asked, handled, casting)
    return None


def obstacle(entry: Entry, handled: int | None) -> str:
    return why_not(entry) or "" if handled is None else entry.flags.requirements(handled)


def refuse(f: Any, asked: str, handled: int | None, casting: str) -> None:
    # The caller lists the entries in its error, if there are any.
    if not callable(f):
        raise TypeError(f"{show(f)} is not callable")
    if not own_entries(f):
        raise TypeError(f"{name_of(f)} offers no typed function: it has no tag with a usable entry; tag it with typedcall.tag()")


def _is_told_by(entry: Entry, rows: list[Row]) -> bool:
    """True if one of these rows tags the entry's function, and only adds flags that its layout lacks."""
    for text, told, address in rows:
        promised = Flags(told) & PROMISES
        if promised and entry.place == BARE_LAYOUT and (text, address) == (entry.signature, entry.address):
            hints = PROMISES | Flags.SHORT
            return told | hints in (entry.flags | hints, entry.with_effects(promised).flags | hints)
    return False


def tag(f: Any, rows: list[Row], kept: Any) -> None:
    if _is_bound_builtin(f):
        raise bound_method_error(f)
    if not rows:
        raise ValueError(f"{name_of(f)}: a tag needs at least one entry")
    for i, row in enumerate(rows):
        _native.check(*row, i, name_of(f))
    function = _wrapper(f)
    present = [each for each in own_entries(f) if not _is_told_by(each, rows)]
    if list(map(row_of, present)) == rows:
        tagged = _tags.get(function)
        if tagged is not None:
            # A new tuple is made, because functions that were resolved before keep the old one.
            both = kept_by_tag(function, [tagged.keep_alive or (), kept or ()])
            _tags.put(function, _Tag(rows, both))
        return
    if present:
        raise conflict(f, present, rows)
    _tags.put(function, _Tag(rows, kept))


def kept_with(f: Any, present: list[Entry]) -> list[Any]:
    """Returns the objects that a new tag must keep alive for these entries of the old tag."""
    return [entry.keep_alive for entry in present]


def untag(f: Any) -> bool:
    return _tags.pop(_wrapper(f)) is not None
