"""What _api.py needs of PyPy: entries from METH_TYPED metadata, tags from outside in a table of this
module's, and calls through cffi. What each function is for, _cpython_backend.py says."""
from __future__ import annotations

import dataclasses
import importlib
import operator
import sys
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from typedcall import _native
from typedcall._codes import CODES, Code, is_buffer
from typedcall._foreign import attribute, name_of, show, text_attribute, type_name
from typedcall._identity import IdentityTable
from typedcall._parameters import Arrangement, arrange, arrangement_of, has_keyword_only
from typedcall._pypy_buffers import buffer_of, release
from typedcall._pypy_originals import wrapper_of
from typedcall._pypy_shims import direct_call, native_pointer, new_place, why_not
from typedcall._records import (
    BARE_LAYOUT,
    PROMISES,
    Entry,
    Flags,
    matching,
    parse_signature,
    row_of,
)
from typedcall._tagging import Row, bound_method_error, kept_by_tag

__all__ = [
    "HAS_SIDE_TABLE", "CAPABILITIES", "TypedFunction", "kept_with", "make_function", "obstacle",
    "own_entries", "refuse", "resolve_own", "select", "tag", "untag",
]

HAS_SIDE_TABLE = False

#: What why_not() allows a call through cffi, which is no question of flags alone.
CAPABILITIES = None


class _Tag(NamedTuple):
    """What tag() was told of one callable: (signature, flags, address), and what it was given."""

    rows: list[Row]
    keep_alive: Any


_tags: IdentityTable[_Tag] = IdentityTable()


def _is_bound_builtin(function: Any) -> bool:
    return type_name(function) == "builtin method"


def _wrapper(f: Any) -> Any:
    wrapper = wrapper_of(f)
    return f if wrapper is None else wrapper


def own_entries(f: Any) -> list[Entry]:
    function = _wrapper(f)
    # Not handed over without a look at its type: some of PyPy's own objects crash every extension.
    read = attribute(function, "__func__") if _is_bound_builtin(function) else function
    # Not `in`, which would ask a metaclass for its `__eq__`.
    is_readable = any(type(read) is each for each in _native.TYPES)
    rows = _native.entries(read) if is_readable else []
    existing = _tags.get(function)
    if existing is not None:
        keep = (function, existing.keep_alive)
        # What the layout cannot say, a tag of the same C function does.
        told = [(text, at) for text, _, at in existing.rows]
        rows = [row for row in rows if row[3] != BARE_LAYOUT or (row[0], row[2]) not in told]
        rows += [(*row, "object row", keep) for row in existing.rows]
    return [Entry(text, Flags(flags), at, place, keep) for text, flags, at, place, keep in rows]


def resolve_own(f: Any, asked: str, can: int | None, casting: str) -> TypedFunction | None:
    entry = select(own_entries(f), asked, can, casting)
    return None if entry is None else make_function(f, entry, asked, can, casting)


def select(found: list[Entry], asked: str, can: int | None, casting: str) -> Entry | None:
    parse_signature(asked)
    if casting not in ("exact", "equivalent", "safe"):
        raise ValueError(f"casting is 'exact', 'equivalent' or 'safe', not {casting!r}")
    for entry in matching(found, asked, casting):
        if not obstacle(entry, can):
            return entry
    return None


def obstacle(entry: Entry, can: int | None) -> str:
    return why_not(entry) or "" if can is None else entry.flags.asks(can)


def refuse(f: Any, asked: str, can: int | None, casting: str) -> None:
    # Where there is something to list, the caller does.
    if not callable(f):
        raise TypeError(f"{show(f)} is not callable")
    if not own_entries(f):
        raise TypeError(f"{name_of(f)} offers no typed function: nobody has tagged it")


def make_function(f: Any, entry: Entry, asked: str, can: int | None, casting: str) -> TypedFunction:
    return TypedFunction(f, entry, asked, can, casting)


def _is_told_by(entry: Entry, rows: list[Row]) -> bool:
    """Does one of these rows say of a function in a layout without flags what that cannot, and nothing
    else?"""
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
    existing = [row_of(each) for each in own_entries(f) if not _is_told_by(each, rows)]
    if existing == rows:
        tagged = _tags.get(function)
        if tagged is not None:
            # A new tuple: who has resolved it keeps the old one. What is there already is not added.
            both = kept_by_tag(function, [tagged.keep_alive or (), kept or ()])
            _tags.put(function, _Tag(rows, both))
        return
    if existing:
        pairs = list(zip(existing, rows))
        at = next((i for i, (old, new) in enumerate(pairs) if old != new), len(pairs) - 1)
        (text, flags, address), (offered, new_flags, new_address) = pairs[at]
        raise ValueError(
            f"{name_of(f)} is tagged already: '{text}' at {address:#x}, flags {flags:x} (overload "
            f"{at + 1} of {len(existing)}), stands, '{offered}' at {new_address:#x}, flags "
            f"{new_flags:x} (of {len(rows)}), was offered"
        )
    _tags.put(function, _Tag(rows, kept))


def kept_with(f: Any, present: list[Entry]) -> list[Any]:
    """What a tag is to keep that has these entries of the last tag, too."""
    return [entry.keep_alive for entry in present]


def untag(f: Any) -> bool:
    return _tags.pop(_wrapper(f)) is not None


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


def _converted(arguments: list[str], args: tuple[Any, ...], buffers: list[Any]) -> Iterator[Any]:
    """What C gets. `buffers` gets those that are to be released."""
    for letters, arg in zip(arguments, args):
        if is_buffer(letters):
            buffers.append(buffer_of(letters, arg))
            yield buffers[-1]
            yield len(buffers[-1])
            continue
        code = CODES[letters]
        value = _CONVERSIONS[code.kind](arg)
        if code.kind in ("signed", "unsigned") and not _fits(code, value):
            sign = "a signed" if code.kind == "signed" else "an unsigned"
            raise OverflowError(f"Python int does not fit {sign} integer of {code.size} bytes")
        yield value


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
        "_arrangement",
        "_asked",
        "_call",
        "_can",
        "_casting",
        "_has_keyword_only",
        "_keep_alive",
        "_letters",
        "_new_place",
        "_reason",
        "__weakref__",
    )

    def __init__(
        self, function: Any, entry: Entry, asked: str, can: int | None, casting: str
    ) -> None:
        self.signature: str = entry.signature
        self.address: int = entry.address
        self.flags: Flags = entry.flags
        self.callable: Any = function
        self.place: str = entry.place
        self.__name__ = text_attribute(function, "__name__") or type_name(function)
        self._asked, self._can, self._casting = asked, can, casting
        self._keep_alive = entry.keep_alive
        #: The function as a cffi function pointer, which is the quickest to call and keeps alive
        #: what the entry does; None where cffi cannot call it.
        self.pointer: Any = None
        self._call: Callable[..., Any] = self._refuse
        # Whoever has resolved an entry that DIFFERS has asked for it.
        entry = dataclasses.replace(entry, flags=entry.flags & ~Flags.DIFFERS)
        self._reason = why_not(entry)
        self._letters = entry.python_types()[0]
        self._new_place: Callable[[], Any] | None = None
        self._arrangement: Arrangement | None = None
        self._has_keyword_only = has_keyword_only(function)
        if self._reason is None:
            self.pointer = native_pointer(entry.signature, entry.address, entry.keep_alive)
            if entry.flags & Flags.FALLS_BACK:
                self._new_place = new_place(entry)
            self._call = direct_call(entry, self._convert_and_call)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords or self._has_keyword_only or len(args) != len(self._letters):
            return self._arrange_and_call(args, keywords)
        return self._call(*args)

    def _arrange_and_call(self, args: Any, keywords: dict[str, Any]) -> Any:
        """With all arguments by position, defaults among them."""
        if self._reason is not None:
            self._refuse()
        try:
            if self._arrangement is None:
                self._arrangement = arrangement_of(self.callable, len(self._letters))
            values = arrange(self._arrangement, args, keywords)
        except TypeError:
            if self._new_place is None:
                raise
            return self.callable(*args, **keywords)  # knows better
        if self._new_place is None:
            return self._call(*values)
        return self._convert_and_call(*values, boxed=lambda: self.callable(*args, **keywords))

    def _convert_and_call(self, *args: Any, boxed: Callable[[], Any] | None = None) -> Any:
        buffers: list[Any] = []
        place: Any = None
        try:
            values = list(_converted(self._letters, args, buffers))
            if self._new_place is None:
                return self.pointer(*values)
        except (TypeError, OverflowError, ValueError, BufferError):
            if self._new_place is None:
                raise
            falls_back = True  # the callable may know of others
        else:
            place = self._new_place()
            falls_back = self.pointer(*values, *([] if place is None else [place]))
        finally:
            for each in buffers:
                release(each)
        if falls_back:
            return self.callable(*args) if boxed is None else boxed()
        return None if place is None else place[0]

    def _refuse(self, *args: Any) -> Any:
        raise TypeError(
            f"{self.__name__} '{self.signature}' {self._reason}: on PyPy it can only be called boxed"
        )

    def __copy__(self) -> TypedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> TypedFunction:
        return self

    def __reduce__(self) -> Any:
        # It imports _api, which imports this module.
        reduce = importlib.import_module("typedcall._pickles").reduce_function
        return reduce(self.callable, self._asked, self._can, self._casting)

    def __repr__(self) -> str:
        return f"<typedcall function {self.__name__} '{self.signature}' at 0x{self.address:x}>"
