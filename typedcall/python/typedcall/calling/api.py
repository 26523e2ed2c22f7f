"""Tags callables, and finds their native functions: first in native tables, then through adapters. The parts that
differ between interpreters are in cpython_backend.py and typedcall/pypy/backend.py, which must define the same
names."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, SupportsIndex, overload

from typedcall.places.pointers import is_of
from typedcall.places.tagging import Row, kept_by_tag, read_flags, read_rows, read_texts
from typedcall.record.codes import WHY_NOTHING, are_equivalent
from typedcall.record.records import (
    EVERYTHING,
    OF_TAGS,
    Entry,
    Flags,
    Found,
    falling_back,
    matching,
    row_of,
)
from typedcall.sources import ask_first, foreign_entries, why_not
from typedcall.tools.foreign import few, is_a, name_of
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

if TYPE_CHECKING or WHY_NOTHING or sys.implementation.name != "pypy":
    from typedcall.calling import cpython_backend as backend
    from typedcall.calling.cpython_backend import TypedFunction
else:
    from typedcall.pypy import backend as backend
    from typedcall.pypy.backend import TypedFunction

__all__ = ["TypedFunction", "add_overloads", "backend", "entries", "pickle_by", "publish", "resolve", "signatures", "tag",
           "untag"]

# Threads that change tags hold this lock, because add_overloads() removes the old tag before it sets the new one.
_changing = RenewedLock()


def _alone(change: Callable[..., Any], *arguments: Any) -> Any:
    # If memory runs out, CPython 3.11 cannot leave a `with` statement in a long function.
    with _changing.lock:
        return change(*arguments)


def _resolved(obj: Any) -> Found:
    """Returns a list that holds the entry of a TypedFunction. For a TypedFunction of a method, the list holds a
    reason instead, because consumers would pass the TypedFunction as self. Returns None for any other object."""
    if not is_a(obj, TypedFunction):
        return None
    flags = Flags(obj.flags)
    if flags & Flags.TAKES_SELF:
        return ["it was resolved from a method, whose self it passes: resolve the method itself"]
    return [Entry(obj.signature, flags, obj.address, obj.place, obj)]


ask_first(_resolved)


#: Sets the function that returns a TypedFunction's `__reduce__` value: `reduce(callable, asked, capabilities,
#: casting)`, called with the arguments of resolve().
pickle_by = backend.pickle_by


def entries(f: Any) -> list[Entry]:
    """Returns all entries of `f`: first those in native tables, then those that adapters find. An entry's address is
    valid as long as its `keep_alive` lives."""
    found = backend.own_entries(f)
    known = {(entry.signature, entry.address) for entry in found}
    for entry in foreign_entries(f):
        if (entry.signature, entry.address) not in known:
            found.append(entry)
    return found


def signatures(f: Any) -> list[str]:
    """Returns the signatures that `f` offers, in the order in which they are tried. If the list is empty, resolve()
    raises a TypeError that explains why."""
    # This is a list comprehension because CPython 3.12 crashes if it has no memory for a generator's function.
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
    """Returns the native function behind `f` that matches `signature`.

    `capabilities` are the Flags that the caller handles. By default, these are the flags that a call from Python
    handles: all but DIFFERS and SETS_ERRNO. With 0, only functions that can be called from anywhere are found. If
    `casting` is "exact", the signature must be identical. "equivalent" also accepts types of the same width ("q" for
    "l"). "safe" also accepts entries whose types convert without loss ("d->d" for "f->d"). A function that may fall
    back to `f` is found by its signature in Python ("d->d") and by its own signature ("d&d->i"). Calling the result is
    the same as calling `f`. If the native function falls back, `f` converts the arguments a second time.

    On PyPy, native functions are called without checking for exceptions, and without the GIL if their flags declare
    that they do not need it. Therefore, by default, resolve() finds only functions that take and return numbers, need
    neither the GIL nor self, and set no exception. Pass `capabilities` to find other functions. Calling the result raises TypeError if cffi cannot call
    the function. On PyPy, "safe" means the same as "equivalent".

    Raises ValueError for a faulty signature. Raises TypeError if no entry fits. For an unbound method, the first
    argument is self."""
    signature, casting = read_texts(signature, casting)
    handled = backend.CAPABILITIES if capabilities is None else read_flags(capabilities, "capabilities")
    # Entries with exactly these types come first, even if they fall back.
    for each in ("equivalent", "safe") if casting == "safe" else (casting,):
        function = (backend.resolve_own(f, signature, handled, each)
                    or _resolve_falling_back(f, signature, handled, each))
        if function is not None:
            return function
    found = foreign_entries(f)
    function = backend.resolve_among(f, found, signature, handled, casting)
    if function is not None:
        return function
    reasons = why_not(f)
    how = _how_to_ask(f, signature, handled, casting)
    if not found and not reasons and not how:
        backend.refuse(f, signature, handled, casting)
    raise TypeError(_refusal(f, signature, handled, few(reasons, "; ")) + how)


def _resolve_falling_back(
    f: Any, signature: str, handled: Any, casting: str
) -> TypedFunction | None:
    """Returns a function for `signature` that may fall back to `f`, such as "d&d->i" for "d->d", or None."""
    way_back = falling_back(signature)
    found = None if way_back is None else backend.resolve_own(f, way_back[0], handled, casting)
    return found if found is not None and Flags(found.flags).may_fall_back else None


def _refusal(f: Any, signature: str, handled: Any, reasons: str) -> str:
    offered, way_out = [], ""
    for entry in entries(f):
        obstacle = backend.obstacle(entry, handled)
        offered.append(f"'{entry.signature}'" + (f" ({obstacle})" if obstacle else ""))
        if is_of(entry, signature) and not are_equivalent(entry.signature, signature):
            way_out = (f"; {entry.place} forgets const: if the C function takes const char * and the like, "
                       f"typedcall.tag(f, '{signature}', f) says so")
    if not offered:
        return f"{name_of(f)} offers no native signature; '{signature}' was asked for: {reasons}"
    listed = f"{name_of(f)} does not offer '{signature}'; it offers {few(offered)}{way_out}"
    return f"{listed}; {reasons}" if reasons else listed


def _how_to_ask(f: Any, signature: str, handled: Any, casting: str) -> str:
    """Suggests capabilities if an entry is excluded only by its flags. On PyPy, `can` is None by default, because
    calls from Python use no flags."""
    for entry in [] if handled is None else matching(entries(f), signature, casting):
        flags = Flags(int(entry.flags) & EVERYTHING)
        if flags.requirements(handled) and not entry.flags.requirements(EVERYTHING):
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
    """Declares that the C function at `address` is a native function of the Python callable `f`. All consumers then
    find it through `f`. `signature` is written in letters, as in "di->d", or in C, as in "double(double, int)" or
    "double distance(double x, int n)".

    `address` is an int or an object that holds a C function: a ctypes function or c_void_p, a cffi pointer, a capsule,
    a SciPy LowLevelCallable, a Numba cfunc, or a TypedFunction. If the object has a signature, it must agree with
    `signature`. The object's flags are added to `flags`. The tag keeps this object alive. If you repeat an equal tag
    with another object, that object is kept alive, too. The tag does not keep `f` alive, and is removed when `f` is
    freed. To declare overloads, pass sequences of equal length as `signature` and `address`. `flags` is then one value
    for all overloads, or also a sequence. The tag of a builtin function belongs to its PyMethodDef, so it applies
    under all of the function's names. Any other tag belongs to the object. On PyPy, every tag belongs to the object.
    Objects that do not support weak references, such as PyPy's builtin functions, stay alive until untag().

    Pass `parameters` and `defaults` for a function without a usable `inspect.signature`. `parameters` is the list of
    parameters in Python, such as `(x, y, /, octaves=1, *, base=0.0)`. `defaults` are the default values of the last
    parameters, such as (1, 0.0). TypedFunction, Numba and PyPy's accelerated functions use these two if Python code
    passes arguments by name or omits them. Consumers written in C and C++ always pass all arguments.

    As with a ctypes prototype, a wrong address or signature can crash the process. Raises ValueError for a faulty
    signature, for unusable flags, for parameters that contradict the signature, and if `f` already has a different
    tag. Repeating a tag does nothing. Raises TypeError if `address` holds no C function or `f` is a bound method."""
    rows, kept = read_rows(f, signature, address, flags, entries)
    arguments = [Entry(text, Flags(own), 0, "", None).python_types()[0] for text, own, _ in rows]
    told = read_parameters(f, arguments, parameters, defaults)
    _alone(_tag, f, rows, kept, told)


def _tag(f: Any, rows: list[Row], kept: Any, told: Parameters | None) -> None:
    check_known(f, told)
    backend.tag(f, rows, kept)
    if told is not None:
        given_parameters.put(f, told)


def add_overloads(
    f: Any,
    signature: str | Sequence[str],
    address: Any,
    *,
    flags: int | Sequence[int] = 0,
) -> None:
    """Adds overloads to the tag of `f`, or tags `f` if it has no tag. Takes the same arguments as tag(). Overloads
    that `f` already has are not added again. From CPython 3.11 on, this also works for functions that extension
    modules have tagged. On older versions, these functions have metadata, which cannot be extended.

    While the tag is replaced, other threads may find no tag. Several threads may add overloads at the same time.
    The behaviour of `f` in Python does not change. Raises ValueError, and changes nothing, if `f` has metadata, or if
    it already has an equal or equivalent signature ("q" for "l") with another address or other flags."""
    rows, kept = read_rows(f, signature, address, flags, entries)
    _alone(_add, f, rows, kept)


def _add(f: Any, rows: list[Row], kept: Any) -> None:
    own_entries = backend.own_entries(f)
    present = [entry for entry in own_entries if entry.place in OF_TAGS]
    if own_entries and not present:
        place, stands = own_entries[0].place, [entry.signature for entry in own_entries]
        raise ValueError(
            f"{name_of(f)} has '{few(stands)}' in its {place}, which cannot be extended"
        )
    old = list(map(row_of, present))
    added = _with_rows(f, old, rows)
    if added == old or not old:
        backend.tag(f, added, kept)
    else:
        own = backend.kept_with(f, present)
        _replace(f, old, kept_by_tag(f, own), added, kept_by_tag(f, [*own, kept or ()]))


def _with_rows(f: Any, old: list[Row], rows: list[Row]) -> list[Row]:
    """Returns the old and the new rows, without duplicates. Raises ValueError for a conflict."""
    added = list(old)
    for row in rows:
        if row in added:
            continue
        for text, its_flags, its_address in added:
            if are_equivalent(text, row[0]) and (its_flags, its_address) != row[1:]:
                raise ValueError(
                    f"{name_of(f)} is tagged already: '{text}' at {its_address:#x}, "
                    f"{Flags(its_flags).text}; cannot add '{row[0]}' at {row[2]:#x}, {Flags(row[1]).text}"
                )
        added.append(row)
    return added


def _replace(f: Any, old: list[Row], old_kept: Any, new: list[Row], new_kept: Any) -> None:
    """Replaces the old tag. Restores it if that fails."""
    try:
        backend.untag(f)
        backend.tag(f, new, new_kept)
    except BaseException:
        backend.untag(f)
        backend.tag(f, old, old_kept)
        raise


def untag(f: Any) -> bool:
    """Removes the tag of `f`. Returns False if tag() has not tagged `f`. Entries in its metadata or in the instance are
    not removed. Functions that were resolved before stay callable. The objects that the tag kept alive live as long as
    these functions and the owner of the tag: the object or, for a builtin function, its module or type."""
    return bool(_alone(_untag, f))


def _untag(f: Any) -> bool:
    given_parameters.pop(f)
    return backend.untag(f)


def publish(f: Any) -> list[str]:
    """Copies the entries that an adapter finds for `f` into the interpreter's side table, where consumers written in C
    and C++ find them. Copies nothing on PyPy, which has no side table. Returns the signatures that can now be found, or
    an empty list if there are none."""
    existing = backend.own_entries(f)
    if not existing:
        existing = foreign_entries(f)
        if existing and backend.HAS_SIDE_TABLE:
            kept = kept_by_tag(f, [entry.keep_alive for entry in existing])
            _alone(backend.tag, f, list(map(row_of, existing)), kept)
            existing = backend.own_entries(f)
    return [entry.signature for entry in existing]
