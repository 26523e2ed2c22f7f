"""Asking Python callables what they offer to native code, and telling others, on CPython: native
tables are looked at first, then the adapters. PyPy's version is _pypy_api.py."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typedcall import _native
from typedcall._foreign import name_of
from typedcall._native import TypedFunction
from typedcall._records import Entry, Flags
from typedcall._tagging import check_texts, kept_by_tag, read_flags, read_rows
from typedcall.sources import foreign_entries

__all__ = ["TypedFunction", "adopt", "entries", "resolve", "signatures", "tag", "untag"]

#: What a call from Python honours: it has the GIL, looks for exceptions and passes self. It cannot
#: keep errno, and whoever wants results that differ says so.
HONOURED = (
    Flags.NEEDS_THREAD
    | Flags.ACQUIRES_GIL
    | Flags.MAY_RAISE
    | Flags.ERROR_IS_NEG_ZERO
    | Flags.RETURNS_STATUS
    | Flags.TAKES_SELF
)

def _native_entries(f: Any) -> list[Entry]:
    return [
        Entry(signature, Flags(flags), address, place, keep_alive)
        for signature, flags, address, place, keep_alive in _native.entries(f)
    ]


def entries(f: Any) -> list[Entry]:
    """Every native way to call `f`: what native tables have, then what an adapter finds. Empty for
    what offers nothing. Each address is valid as long as the entry's `keep_alive`."""
    found = _native_entries(f)
    known = {(entry.signature, entry.address) for entry in found}
    for entry in foreign_entries(f):
        if (entry.signature, entry.address) not in known:
            found.append(entry)
    return found


def signatures(f: Any) -> list[str]:
    """The signatures that `f` offers, in the order in which they are tried; often none."""
    # A list: where CPython 3.12 has no memory for a generator's function it crashes.
    return list(dict.fromkeys([entry.signature for entry in entries(f)]))


def resolve(
    f: Any, signature: str, *, honours: int | None = None, casting: str = "equivalent"
) -> TypedFunction:
    """The native function behind `f` that answers `signature`.

    `honours`: what the caller does for an entry that asks for it, as Flags; usually all that a call
    from Python does, which is everything but DIFFERS and SETS_ERRNO. With 0 only functions that can
    be called from anywhere are found. `casting`: "exact" takes the very text only, "equivalent"
    also other names of the same widths ("q" for "l"), "safe" also entries between whose types and
    those asked for no value is lost ("d->d" for "f->d").

    ValueError, with the position, for a faulty signature; TypeError, with a list of what is
    offered, when there is no such entry. An unbound method's function takes self first."""
    check_texts(signature, casting)
    honoured = read_flags(HONOURED if honours is None else honours, "honours")
    row = _native.find(f, signature, honoured, casting)
    if row is not None:
        offered, flags, address, place, keep_alive = row
        return _native.make_function(
            f, offered, Flags(flags), address, place, keep_alive, signature, casting
        )
    found = foreign_entries(f)
    at = _native.select(
        [(entry.signature, int(entry.flags), entry.address) for entry in found],
        signature,
        honoured,
        casting,
    )
    if at is None:
        if not found:
            _native.refuse(f, signature, honoured, casting)
        raise TypeError(_refusal(f, signature, honoured))
    entry = found[at]
    return _native.make_function(
        f,
        entry.signature,
        entry.flags,
        entry.address,
        entry.place,
        entry.keep_alive,
        signature,
        casting,
    )


def _resolve_again(f: Any, signature: str, flags: int, casting: str) -> TypedFunction:
    """A pickled TypedFunction: whoever made it honoured these flags."""
    return resolve(f, signature, honours=int(HONOURED) | int(flags), casting=casting)


def _refusal(f: Any, signature: str, honoured: int) -> str:
    offered = []
    for entry in entries(f):
        asks = entry.flags.asks(honoured)
        offered.append("'{}'{}".format(entry.signature, f" ({asks})" if asks else ""))
    return "{} does not offer '{}'; it offers {}".format(name_of(f), signature, ", ".join(offered))


def tag(
    f: Any,
    signature: str | Sequence[str],
    address: Any,
    *,
    flags: int = 0,
) -> None:
    """Says that `address` is a native function of `signature` behind the Python callable `f`; from
    then on every consumer finds it there.

    `address` is an int or something that holds a C function: a ctypes function or c_void_p, a cffi
    pointer, a capsule, a SciPy LowLevelCallable, a Numba cfunc, a TypedFunction. What says itself
    which signature it has must agree, and its flags are added to `flags`. It is kept alive until
    the tag goes, with that of an equal tag, too, but for `f` itself, with which the tag goes.
    Overloads are two sequences of the same length. A builtin function is tagged by its row, so for
    all names that it has; everything else by the object.

    A tag is a promise, like a ctypes prototype: a wrong address or signature crashes the process.
    ValueError for a faulty signature (with the position), unusable flags, or when another tag
    stands already; the same tag twice is one tag. TypeError for what holds no address."""
    rows, kept = read_rows(f, signature, address, flags, entries)
    _native.tag(f, rows, kept)


def untag(f: Any) -> bool:
    """Takes the tag of `f` away. False when it has none in the interpreter's side table: what
    stands in its own metadata or instance stays. What was resolved before stays callable: what the
    tag kept alive is kept until the interpreter ends."""
    return _native.untag(f)


def adopt(f: Any) -> list[str]:
    """Puts what an adapter finds for `f` into the interpreter's side table, where consumers written
    in C and C++ look too. Returns the signatures that they find now; none if there is no adapter
    for such objects."""
    standing = _native.entries(f)
    if not standing:
        found = foreign_entries(f)
        if not found:
            return []
        _native.tag(
            f,
            [(entry.signature, int(entry.flags), entry.address) for entry in found],
            kept_by_tag(f, [entry.keep_alive for entry in found]),
        )
        standing = _native.entries(f)
    return [row[0] for row in standing]
