"""CPython's half of api.py. If the extension module is missing, no_native.py replaces it."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Callable

from typedcall.places.tagging import Row, conflict
from typedcall.record.codes import WHY_NOTHING
from typedcall.record.records import HANDLED, Entry, Flags, row_of
from typedcall.tools.identity import IdentityTable
from typedcall.tools.parameters import arrangement_of, has_keyword_only
from typedcall.tools.parameters import refuse as refuse_arguments

if TYPE_CHECKING or not WHY_NOTHING:
    from typedcall.native import _native
    from typedcall.native._native import TypedFunction
else:
    from typedcall.native import no_native as _native
    from typedcall.native.no_native import TypedFunction

__all__ = [
    "HAS_SIDE_TABLE", "CAPABILITIES", "TypedFunction", "kept_with", "obstacle", "own_entries", "pickle_by",
    "refuse", "resolve_among", "resolve_own", "tag", "untag",
]

#: True if consumers written in C and C++ see what tag() writes.
HAS_SIDE_TABLE = True

#: The flags that a call from Python handles. TAKES_SELF is included because the call passes self. SETS_ERRNO is not,
#: because the call cannot preserve errno. DIFFERS is not, because callers must ask for it.
CAPABILITIES = HANDLED | Flags.TAKES_SELF

# These functions handle keywords and defaults. The extension module does not import the package.
_native.arrangement_of = arrangement_of
_native.refuse_arguments = refuse_arguments


def pickle_by(reduce: Callable[..., Any]) -> None:
    """Sets the function that returns a TypedFunction's `__reduce__` value."""
    _native.reduce_function = reduce


def own_entries(f: Any) -> list[Entry]:
    """Returns the entries of `f` in native tables and in its tag."""
    return [
        Entry(signature, Flags(flags), address, place, keep_alive)
        for signature, flags, address, place, keep_alive in _native.entries(f)
    ]


# The rows of each callable that tag() has tagged, and the objects that its tag keeps alive, unless the callable
# itself keeps them. The rows are None once an equal tag has added objects to keep alive.
_tags: IdentityTable[tuple[list[Row] | None, Any]] = IdentityTable()


def _conflict(f: Any, rows: list[Row], text: str) -> ValueError:
    """Returns the exception for a different tag, with `text` if that tag cannot be shown."""
    present = own_entries(f)
    present = [entry for entry in present if entry.place == present[0].place]
    return ValueError(text) if list(map(row_of, present)) in ([], rows) else conflict(f, present, rows)


def tag(f: Any, rows: list[Row], kept: Any) -> None:
    """See _native.tag()."""
    is_new = _native.tag(f, rows, kept)
    if isinstance(is_new, str):
        raise _conflict(f, rows, is_new)
    if _native.kept_by(f) is not None:
        kept = None  # `f` already keeps the objects, and this table never frees any
    if not is_new:
        known = _tags.get(f)
        if known is not None and kept is not None:
            _tags.put(f, (None, known[1]))
        return
    try:
        weakref.ref(f)  # raises TypeError if the table would keep `f` alive
        _tags.put(f, (rows, kept))
    except (TypeError, MemoryError):
        pass  # kept_with() also works without this record


def untag(f: Any) -> bool:
    """See _native.untag()."""
    _tags.pop(f)
    return _native.untag(f)


def kept_with(f: Any, present: list[Entry]) -> list[Any]:
    """Returns the objects that a new tag must keep alive for these entries of the old tag. An entry's `keep_alive` is
    the last resort: it refers to the callable, which would then never be freed."""
    known = _tags.get(f)
    if known is not None and known[0] == list(map(row_of, present)):
        return [known[1] or (), _native.kept_by(f) or ()]
    return [entry.keep_alive for entry in present]


def resolve_own(f: Any, asked: str, handled: int, casting: str) -> TypedFunction | None:
    """Returns a TypedFunction for the best matching entry of own_entries(), or None. Raises ValueError for a faulty
    signature."""
    row = _native.find(f, asked, handled, casting)
    if row is None:
        return None
    # Creating an Entry here would make resolve() slower by half.
    return _make_function(f, row, asked, handled, casting)


def resolve_among(f: Any, found: list[Entry], asked: str, handled: int, casting: str) -> TypedFunction | None:
    """Returns a TypedFunction for the best matching entry of `found`, or None."""
    at = _native.select(list(map(row_of, found)), asked, handled, casting)
    if at is None:
        return None
    e = found[at]
    return _make_function(f, (e.signature, e.flags, e.address, e.place, e.keep_alive), asked, handled, casting)


def _make_function(f: Any, row: Any, asked: str, handled: int, casting: str) -> TypedFunction:
    signature, flags, address, place, keep_alive = row
    # In pickles, None stands for the flags of a call from Python, which may differ between versions.
    capabilities = None if handled == CAPABILITIES else int(handled)
    return _native.make_function(f, signature, Flags(flags), address, place, keep_alive, asked, casting,
                                 has_keyword_only(f), capabilities)


def obstacle(entry: Entry, handled: int) -> str:
    """Returns the reason why the entry's flags prevent a call, or ""."""
    return entry.flags.requirements(handled)


def refuse(f: Any, asked: str, handled: int, casting: str) -> None:
    """Raises the TypeError that explains why resolve_own() returned None. An exception from own_entries()
    propagates."""
    _native.refuse(f, asked, handled, casting)
