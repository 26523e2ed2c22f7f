"""Asking Python callables what they offer to native code, and telling others: native tables are
looked at first, then the adapters. What differs between interpreters is in cpython_backend.py
and typedcall/pypy/backend.py, which have the same names."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, SupportsIndex, overload

from typedcall.places.pointers import is_of
from typedcall.places.tagging import OF_TAGS, Row, kept_by_tag, read_flags, read_rows, read_texts
from typedcall.record.codes import WHY_NOTHING, are_equivalent
from typedcall.record.records import EVERYTHING, Entry, Flags, Found, falling_back, matching, row_of
from typedcall.sources import ask_first, foreign_entries, why_not
from typedcall.tools.foreign import is_a, name_of
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import Parameters, check_known, given_parameters, read_parameters

if TYPE_CHECKING:
    from typedcall.record.signature_types import (
        ComplexLike,
        FloatLike,
        OfBools,
        OfComplex,
        OfFloats,
        OfInts,
    )

# To a type checker all functions are CPython's.
if TYPE_CHECKING or WHY_NOTHING or sys.implementation.name != "pypy":
    from typedcall.calling import cpython_backend as backend
    from typedcall.calling.cpython_backend import TypedFunction
else:
    from typedcall.pypy import backend as backend
    from typedcall.pypy.backend import TypedFunction

__all__ = ["TypedFunction", "add", "adopt", "backend", "entries", "pickle_by", "resolve", "signatures", "tag", "untag"]

# Held while tags change: add() takes the old one away before it gives the new one.
_changing = RenewedLock()


def _alone(change: Callable[..., Any], *arguments: Any) -> Any:
    # In long functions CPython 3.11 does not come out of a `with` when there is no memory at all.
    with _changing.lock:
        return change(*arguments)


def _resolved(obj: Any) -> Found:
    """The entry of a TypedFunction; None for anything else. A method's offers nothing: the self that
    it passes is the method's, and consumers would pass the TypedFunction."""
    if not is_a(obj, TypedFunction):
        return None
    flags = Flags(obj.flags)
    if flags & Flags.TAKES_SELF:
        return ["it was resolved of a method, whose self it passes: resolve the method itself"]
    return [Entry(obj.signature, flags, obj.address, obj.place, obj)]


ask_first(_resolved)


#: Has a TypedFunction pickled as `reduce(callable, asked, capabilities, casting)` says, with what
#: resolve() was given.
pickle_by = backend.pickle_by


def entries(f: Any) -> list[Entry]:
    """Every native way to call `f`: what native tables have, then what an adapter finds. Empty for
    what offers nothing. Each address is valid as long as the entry's `keep_alive`."""
    found = backend.own_entries(f)
    known = {(entry.signature, entry.address) for entry in found}
    for entry in foreign_entries(f):
        if (entry.signature, entry.address) not in known:
            found.append(entry)
    return found


def signatures(f: Any) -> list[str]:
    """The signatures that `f` offers, in the order in which they are tried; often none. Why there are none,
    the TypeError of resolve() says."""
    # A list: where CPython 3.12 has no memory for a generator's function it crashes.
    return list(dict.fromkeys([entry.signature for entry in entries(f)]))


@overload
def resolve(
    f: Any, signature: OfFloats, *, capabilities: int | None = None, casting: str = "equivalent"
) -> TypedFunction[FloatLike, float]: ...
@overload
def resolve(
    f: Any, signature: OfInts, *, capabilities: int | None = None, casting: str = "equivalent"
) -> TypedFunction[SupportsIndex, int]: ...
@overload
def resolve(
    f: Any, signature: OfBools, *, capabilities: int | None = None, casting: str = "equivalent"
) -> TypedFunction[object, bool]: ...
@overload
def resolve(
    f: Any, signature: OfComplex, *, capabilities: int | None = None, casting: str = "equivalent"
) -> TypedFunction[ComplexLike, complex]: ...
@overload
def resolve(
    f: Any, signature: str, *, capabilities: int | None = None, casting: str = "equivalent"
) -> TypedFunction: ...
def resolve(
    f: Any, signature: str, *, capabilities: int | None = None, casting: str = "equivalent"
) -> TypedFunction:
    """The native function behind `f` that answers `signature`.

    `capabilities`: what the caller does for an entry that asks for it, as Flags; usually all that a call
    from Python does, which is everything but DIFFERS and SETS_ERRNO. With 0 only functions that can
    be called from anywhere are found. `casting`: "exact" takes the very text only, "equivalent"
    also other names of the same widths ("q" for "l"), "safe" also entries between whose types and
    those asked for no value is lost ("d->d" for "f->d"). A function that may fall back to `f` is
    found by what Python gets ("d->d"), and by its own signature ("d&d->i"); a call of it gives what
    `f` gives, which converts the arguments again where it is called.

    PyPy calls it through cffi, where there is no GIL and nobody looks for exceptions: usually only
    functions are found that need neither these nor self, and have numbers only. With `capabilities`
    others are found for the caller's own use of the address; calling what cannot be called so is a
    TypeError. "safe" is the same as "equivalent" there, because nothing is converted.

    ValueError, with the position, for a faulty signature; TypeError, with a list of what is
    offered, when there is no such entry. An unbound method's function takes self first."""
    signature, casting = read_texts(signature, casting)
    can = backend.CAPABILITIES if capabilities is None else read_flags(capabilities, "capabilities")
    # What takes the very types comes first, whether or not it falls back.
    for each in ("equivalent", "safe") if casting == "safe" else (casting,):
        function = (backend.resolve_own(f, signature, can, each)
                    or _resolve_falling_back(f, signature, can, each))
        if function is not None:
            return function
    found = foreign_entries(f)
    function = backend.resolve_among(f, found, signature, can, casting)
    if function is not None:
        return function
    reasons = why_not(f)
    how = _how_to_ask(f, signature, can, casting)
    if not found and not reasons and not how:
        backend.refuse(f, signature, can, casting)
    raise TypeError(_refusal(f, signature, can, "; ".join(reasons)) + how)


def _resolve_falling_back(
    f: Any, signature: str, can: Any, casting: str
) -> TypedFunction | None:
    """The function that gives what `signature` does, but may fall back to `f`: "d&d->i" for
    "d->d"."""
    text = falling_back(signature)
    if text is None:
        return None
    found = backend.resolve_own(f, text, can, casting)
    return found if found is not None and found.flags & Flags.FALLS_BACK else None


def _refusal(f: Any, signature: str, can: Any, reasons: str) -> str:
    offered, way_out = [], ""
    for entry in entries(f):
        obstacle = backend.obstacle(entry, can)
        offered.append(f"'{entry.signature}'" + (f" ({obstacle})" if obstacle else ""))
        if is_of(entry, signature) and not are_equivalent(entry.signature, signature):
            way_out = (f"; {entry.place} forgets const: if the C function takes const char * and the like, "
                       f"typedcall.tag(f, '{signature}', f) says so")
    if not offered:
        return f"{name_of(f)} offers no native signature; '{signature}' was asked for: {reasons}"
    listed = f"{name_of(f)} does not offer '{signature}'; it offers {', '.join(offered)}{way_out}"
    return f"{listed}; {reasons}" if reasons else listed


def _how_to_ask(f: Any, signature: str, can: Any, casting: str) -> str:
    """What to write where flags alone keep an entry back. (PyPy's own calls know no flags: None.)"""
    for entry in [] if can is None else matching(entries(f), signature, casting):
        flags = Flags(int(entry.flags) & EVERYTHING)
        if flags.asks(can) and not entry.flags.asks(EVERYTHING):
            asked = " | ".join([f"Flags.{name}" for name in flags.names])
            return f"; a caller that handles this asks with capabilities={asked}"
    return ""


def tag(
    f: Any,
    signature: str | Sequence[str],
    address: Any,
    *,
    flags: int | Sequence[int] = 0,
    parameters: str | None = None,
    defaults: Sequence[Any] | None = None,
) -> None:
    """Says that `address` is a native function of `signature` behind the Python callable `f`; from
    then on every consumer finds it there. `signature` is spelt by letters, "di->d", or as in C:
    "double(double, int)", "double distance(double x, int n)".

    `address` is an int or something that holds a C function: a ctypes function or c_void_p, a cffi
    pointer, a capsule, a SciPy LowLevelCallable, a Numba cfunc, a TypedFunction. What says itself
    which signature it has must agree, and its flags are added to `flags`. It is kept alive until
    the tag goes, with that of an equal tag, too, but for `f` itself, with which the tag goes.
    Overloads are two sequences of the same length, and `flags` one for all or a third
    sequence. A builtin function is tagged by its row, so for
    all names that it has; everything else by the object. PyPy tags objects only, and keeps those
    without weak references, as builtin functions are there, alive until untag().

    `parameters` says what Python calls them, `(x, y, /, octaves=1, *, base=0.0)`, for functions whose own
    signature (`inspect.signature`) does not; `defaults` are those of the last parameters, (1, 0.0). Both
    are for those who call by names and defaults in Python: TypedFunction, Numba and PyPy's accelerated
    functions. Consumers written in C and C++ are offered the whole function only.

    A tag is a promise, like a ctypes prototype: a wrong address or signature crashes the process.
    ValueError for a faulty signature (with the position), unusable flags, parameters that contradict the
    signature, or when another tag is there already; the same tag twice is one tag. TypeError for what
    holds no address, and for a bound method: tag its function."""
    rows, kept = read_rows(f, signature, address, flags, entries)
    arguments = [Entry(text, Flags(own), 0, "", None).python_types()[0] for text, own, _ in rows]
    told = read_parameters(f, arguments, parameters, defaults)
    _alone(_tag, f, rows, kept, told)


def _tag(f: Any, rows: list[Row], kept: Any, told: Parameters | None) -> None:
    check_known(f, told)
    backend.tag(f, rows, kept)
    if told is not None:
        given_parameters.put(f, told)


def add(
    f: Any,
    signature: str | Sequence[str],
    address: Any,
    *,
    flags: int | Sequence[int] = 0,
) -> None:
    """Adds overloads to the tag of `f`, behind those that it has; tags `f` if it has none. Arguments as
    for tag(). What it has already is not added again. From CPython 3.11 on modules in C bring tags,
    too; in older versions their functions have metadata, to which nothing is added.

    Python code is not asked for these overloads: what `f` does with arguments stays. For a moment
    other threads may find no tag; what several of them add is all there in the end. ValueError, and
    nothing is changed, where `f` has the signature, or one of the same types ("q" for "l"), with another
    address or other flags, or has metadata."""
    rows, kept = read_rows(f, signature, address, flags, entries)
    _alone(_add, f, rows, kept)


def _add(f: Any, rows: list[Row], kept: Any) -> None:
    own_entries = backend.own_entries(f)
    present = [entry for entry in own_entries if entry.place in OF_TAGS]
    if own_entries and not present:
        place, stands = own_entries[0].place, [entry.signature for entry in own_entries]
        raise ValueError(
            f"{name_of(f)} has '{', '.join(stands)}' in its {place}, to which nothing is added"
        )
    old = list(map(row_of, present))
    added = _with_rows(f, old, rows)
    if added == old or not old:
        backend.tag(f, added, kept)
    else:
        own = backend.kept_with(f, present)
        _replace(f, old, kept_by_tag(f, own), added, kept_by_tag(f, [*own, kept or ()]))


def _with_rows(f: Any, old: list[Row], rows: list[Row]) -> list[Row]:
    """Both, each row once. ValueError for a conflict."""
    added = list(old)
    for row in rows:
        if row in added:
            continue
        for text, its_flags, its_address in added:
            if are_equivalent(text, row[0]) and (its_flags, its_address) != row[1:]:
                raise ValueError(
                    f"{name_of(f)} is tagged already: '{text}' at {its_address:#x}, "
                    f"{Flags(its_flags).text}, stands, '{row[0]}' at {row[2]:#x}, {Flags(row[1]).text}, was to be added"
                )
        added.append(row)
    return added


def _replace(f: Any, old: list[Row], old_kept: Any, new: list[Row], new_kept: Any) -> None:
    """Another tag instead of the old one, which stays where that fails. All is made before."""
    try:
        backend.untag(f)
        backend.tag(f, new, new_kept)
    except BaseException:
        backend.untag(f)
        backend.tag(f, old, old_kept)
        raise


def untag(f: Any) -> bool:
    """Takes the tag of `f` away. False when it has none that tag() has given it: what is in its
    own metadata or instance stays. What was resolved before stays callable: what the tag kept alive
    is kept as long as that, and as the object, module or type that had the tag."""
    return bool(_alone(_untag, f))


def _untag(f: Any) -> bool:
    given_parameters.pop(f)
    return backend.untag(f)


def adopt(f: Any) -> list[str]:
    """Puts what an adapter finds for `f` into the interpreter's side table, where consumers written
    in C and C++ look too; PyPy has neither, and nothing to do. Returns the signatures that are
    found now; none if there is no adapter for such objects."""
    existing = backend.own_entries(f)
    if not existing:
        existing = foreign_entries(f)
        if existing and backend.HAS_SIDE_TABLE:
            kept = kept_by_tag(f, [entry.keep_alive for entry in existing])
            _alone(backend.tag, f, list(map(row_of, existing)), kept)
            existing = backend.own_entries(f)
    return [entry.signature for entry in existing]
