"""The package's functions on PyPy: entries from METH_TYPED metadata, tags from outside in a table
of this module's, and calls through cffi. CPython's version is _api.py."""
from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from typedcall import _pypy_reader
from typedcall._codes import CODES, Code
from typedcall._foreign import (
    attribute,
    exact_text,
    name_of,
    show,
    text_attribute,
    type_name,
)
from typedcall._identity import IdentityTable
from typedcall._pypy_originals import wrapper_of
from typedcall._pypy_shims import direct_call, native_pointer, why_not
from typedcall._records import Entry, Flags, matching, parse_signature
from typedcall._tagging import check_texts, kept_by_tag, read_flags, read_rows
from typedcall.sources import foreign_entries

__all__ = ["TypedFunction", "adopt", "entries", "resolve", "signatures", "tag", "untag"]


class _Tag(NamedTuple):
    """What tag() was told of one callable: (signature, flags, address), and what it was given."""

    rows: list[tuple[str, Flags, int]]
    keep_alive: Any


_tags: IdentityTable[_Tag] = IdentityTable()


def _is_bound_builtin(function: Any) -> bool:
    return type_name(function) == "builtin method"


def _read(function: Any) -> list[Entry]:
    """What stands in the metadata of an extension's function, or of a bound method's."""
    # Not handed over without a look at its type: some of PyPy's own objects crash every extension.
    read = function
    if _is_bound_builtin(read):
        read = attribute(read, "__func__")
    # Not `in`, which would ask a metaclass for its `__eq__`.
    is_readable = any(type(read) is each for each in _pypy_reader.TYPES)
    rows = _pypy_reader.entries(read) if is_readable else []
    return [
        Entry(signature, Flags(flags), address, place, function)
        for signature, flags, address, place in rows
    ]


def own_entries(function: Any) -> list[Entry]:
    """The entries that accelerate() may use: the function's metadata, and its tag."""
    found = _read(function)
    standing = _tags.get(function)
    if standing is not None:
        keep = (function, standing.keep_alive)
        found += [Entry(text, flags, at, "object row", keep) for text, flags, at in standing.rows]
    return found


def _wrapper(f: Any) -> Any:
    wrapper = wrapper_of(f)
    return f if wrapper is None else wrapper


def entries(f: Any) -> list[Entry]:
    """Every native way to call `f`: what its metadata and tag() say, then what an adapter finds.
    Empty for what offers nothing. Each address is valid as long as the entry's `keep_alive`."""
    found = own_entries(_wrapper(f))
    known = {(entry.signature, entry.address) for entry in found}
    found += [e for e in foreign_entries(f) if (e.signature, e.address) not in known]
    return found


def signatures(f: Any) -> list[str]:
    """The signatures that `f` offers, in the order in which they are tried; often none."""
    return list(dict.fromkeys(entry.signature for entry in entries(f)))


# PyFloat_AsDouble, which the wrapper calls, has it since PyPy 8.0 only.
_DOUBLES_TAKE_INDEX = getattr(sys, "pypy_version_info", (8,))[0] >= 8


def _float(value: Any) -> float:
    """What PyFloat_AsDouble makes of it: float() alone would read strings and buffers."""
    if hasattr(type(value), "__float__"):
        return float(value)
    if _DOUBLES_TAKE_INDEX and hasattr(type(value), "__index__"):
        return float(operator.index(value))
    raise TypeError(f"must be real number, not {type(value).__name__}")


def _fits(code: Code, value: int) -> bool:
    if code.kind == "signed":
        value = -value - 1 if value < 0 else value
        return value < 1 << (8 * code.size - 1)
    return 0 <= value < 1 << (8 * code.size)


# For arguments that are not of the very type.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "signed": operator.index,
    "unsigned": operator.index,
    "floating": _float,
}


class TypedFunction:
    """A C function that was found behind a Python callable. A call converts the arguments to its
    types and calls it through cffi, without the GIL. Made by resolve()."""

    __slots__ = (
        "signature",
        "address",
        "flags",
        "callable",
        "place",
        "pointer",
        "__name__",
        "_call",
        "_keep_alive",
        "_reason",
        "__weakref__",
    )

    def __init__(self, entry: Entry, function: Any) -> None:
        self.signature: str = entry.signature
        self.address: int = entry.address
        self.flags: Flags = entry.flags
        self.callable: Any = function
        self.place: str = entry.place
        self.__name__ = text_attribute(function, "__name__") or type_name(function)
        self._keep_alive = entry.keep_alive
        #: The function as a cffi function pointer, which is the quickest to call and keeps alive
        #: what the entry does; None where cffi cannot call it.
        self.pointer: Any = None
        self._call: Callable[..., Any] = self._refuse
        # Whoever has resolved an entry that DIFFERS has asked for it.
        entry = dataclasses.replace(entry, flags=entry.flags & ~Flags.DIFFERS)
        self._reason = why_not(entry)
        if self._reason is None:
            self.pointer = native_pointer(entry.signature, entry.address, entry.keep_alive)
            self._call = direct_call(entry, self._convert_and_call)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords:
            raise TypeError(f"{self.__name__}() takes no keyword arguments")
        return self._call(*args)

    def _convert_and_call(self, *args: Any) -> Any:
        arguments, _ = parse_signature(self.signature)
        if len(args) != len(arguments):
            plural = "" if len(arguments) == 1 else "s"
            raise TypeError(
                f"{self.__name__}() takes exactly {len(arguments)} argument{plural} "
                f"({len(args)} given)"
            )
        codes = [CODES[letters] for letters in arguments]
        values = [_CONVERSIONS[code.kind](arg) for code, arg in zip(codes, args)]
        for code, value in zip(codes, values):
            if code.kind in ("signed", "unsigned") and not _fits(code, value):
                sign = "a signed" if code.kind == "signed" else "an unsigned"
                raise OverflowError(f"Python int does not fit {sign} integer of {code.size} bytes")
        return self.pointer(*values)

    def _refuse(self, *args: Any) -> Any:
        raise TypeError(
            f"{self.__name__} '{self.signature}' {self._reason}: on PyPy it can only be called boxed"
        )

    def __copy__(self) -> TypedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> TypedFunction:
        return self

    def __reduce__(self) -> Any:
        return _resolve_again, (self.callable, self.signature, int(self.flags))

    def __repr__(self) -> str:
        return f"<typedcall function {self.__name__} '{self.signature}' at 0x{self.address:x}>"


def _resolve_again(f: Any, signature: str, flags: int) -> TypedFunction:
    return resolve(f, signature, honours=flags, casting="exact")


def resolve(
    f: Any, signature: str, *, honours: int | None = None, casting: str = "equivalent"
) -> TypedFunction:
    """The native function behind `f` that answers `signature`.

    On PyPy it is called through cffi, where there is no GIL and nobody looks for exceptions:
    usually only functions are found that need neither these nor self, and have numbers only. With
    `honours`, as Flags, others are found for the caller's own use of the address; calling what
    cannot be called so is a TypeError. `casting`: "exact" takes the very text only, "equivalent"
    also other names of the same widths ("q" for "l"); "safe" is the same here, because nothing is
    converted.

    ValueError, with the position, for a faulty signature; TypeError, with a list of what is
    offered, when there is no such entry."""
    check_texts(signature, casting)
    signature, casting = exact_text(signature), exact_text(casting)
    parse_signature(signature)
    if casting not in ("exact", "equivalent", "safe"):
        raise ValueError(f"casting is 'exact', 'equivalent' or 'safe', not {casting!r}")
    if not callable(f):
        raise TypeError(f"{show(f)} is not callable")
    offered = entries(f)
    reasons = {}
    for entry in matching(offered, signature, casting):
        reason = why_not(entry) if honours is None else entry.flags.asks(read_flags(honours, "honours"))
        if not reason:
            return TypedFunction(entry, f)
        reasons[entry.signature] = f" ({reason})"
    if not offered:
        raise TypeError(f"{name_of(f)} offers no typed function: nobody has tagged it")
    listed = ["'{}'{}".format(e.signature, reasons.get(e.signature, "")) for e in offered]
    raise TypeError(
        "{} does not offer '{}'; it offers {}".format(name_of(f), signature, ", ".join(listed))
    )


def tag(
    f: Any,
    signature: str | Sequence[str],
    address: Any,
    *,
    flags: int = 0,
) -> None:
    """Says that `address` is a native function of `signature` behind the Python callable `f`.

    `address` is an int or something that holds a C function: a ctypes function or c_void_p, a cffi
    pointer, a TypedFunction. What says itself which signature it has must agree, and its flags are
    added to `flags`. It is kept alive, with that of an equal tag, too. Overloads are two sequences of
    the same length. An extension's function, which has no weak references on PyPy, is kept alive
    until untag().

    A tag is a promise, like a ctypes prototype: a wrong address or signature crashes the process.
    ValueError for a faulty signature (with the position), unusable flags, or when another tag
    stands already; the same tag twice is one tag. TypeError for what holds no address, and for a
    bound method: tag its function."""
    read, kept = read_rows(f, signature, address, flags, entries, is_bound=_is_bound_builtin(f))
    if not read:
        raise ValueError(f"{name_of(f)}: a tag needs at least one entry")
    for i, (text, bits, number) in enumerate(read):
        _pypy_reader.check(text, bits, number, i, name_of(f))
    rows = [(text, Flags(bits), number) for text, bits, number in read]
    function = _wrapper(f)
    standing = [(e.signature, e.flags, e.address) for e in own_entries(function)]
    if standing == rows:
        tagged = _tags.get(function)
        if tagged is not None:
            # A new tuple: who has resolved it keeps the old one. What is there already is not added.
            both = kept_by_tag(function, [tagged.keep_alive or (), kept or ()])
            _tags.put(function, _Tag(tagged.rows, both))
        return
    if standing:
        pairs = list(zip(standing, rows))
        at = next((i for i, (old, new) in enumerate(pairs) if old != new), len(pairs) - 1)
        (text, flags, address), (offered, new_flags, new_address) = pairs[at]
        raise ValueError(
            f"{name_of(f)} is tagged already: '{text}' at {address:#x}, flags {flags:x} (overload "
            f"{at + 1} of {len(standing)}), stands, '{offered}' at {new_address:#x}, flags "
            f"{new_flags:x} (of {len(rows)}), was offered"
        )
    _tags.put(function, _Tag(rows, kept))


def untag(f: Any) -> bool:
    """Takes the tag of `f` away. False when it has none: what stands in its own metadata stays.
    What was resolved before stays callable."""
    return _tags.pop(_wrapper(f)) is not None


def adopt(f: Any) -> list[str]:
    """On CPython, shows consumers written in C and C++ what an adapter has found. PyPy has no such
    consumers and nothing to do. Returns the signatures."""
    return signatures(f)
