"""Entries and their flags as Python objects."""
from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Optional, Union

from typedcall.record import codes
from typedcall.record.codes import parse_signature

__all__ = ["BARE_LAYOUT", "EVERYTHING", "HANDLED", "OBJECT_ROW", "OF_TAGS", "PROMISES", "Entry", "Flags", "Found",
           "ThreadState", "View", "falling_back", "has_buffers", "matching", "parse_signature", "row_of"]

#: The flags that may require something of an entry's caller.
EVERYTHING = codes.MANDATORY_MASK
#: BARE_LAYOUT is the place of an entry in PyPy's own struct or in that of the METH_TYPED post. These structs have no
#: flags, so the entry is assumed to need the GIL, and not to raise. OBJECT_ROW is a row of the side table for one object.
_, _, BARE_LAYOUT, _DEF_ROW, OBJECT_ROW, _ = codes.PLACES
#: The places of entries in the side table, from tag() or from a provider.
OF_TAGS = (_DEF_ROW, OBJECT_ROW)
#: The flags that a caller must understand, including bits that have no meaning yet.
_MANDATORY = codes.ABI_MASK | codes.MANDATORY_MASK
_BITS = {name: bit for name, bit, _ in codes.FLAGS}
_WORDS = {bit: words for _, bit, words in codes.FLAGS if bit & codes.MANDATORY_MASK}


class Flags(enum.IntFlag):
    """Properties of a C function that its signature does not show. docs/ABI.md, section 3, defines them."""

    NEEDS_THREAD = _BITS["NEEDS_THREAD"]
    ACQUIRES_GIL = _BITS["ACQUIRES_GIL"]
    MAY_RAISE = _BITS["MAY_RAISE"]
    ERROR_IS_NEG_ZERO = _BITS["ERROR_IS_NEG_ZERO"]
    RETURNS_STATUS = _BITS["RETURNS_STATUS"]
    TAKES_SELF = _BITS["TAKES_SELF"]
    SETS_ERRNO = _BITS["SETS_ERRNO"]
    DIFFERS = _BITS["DIFFERS"]
    FALLS_BACK = _BITS["FALLS_BACK"]
    THREAD_SAFE = _BITS["THREAD_SAFE"]
    PURE = _BITS["PURE"]
    SHORT = _BITS["SHORT"]

    @property
    def is_plain(self) -> bool:
        """True if no mandatory flag is set, so any thread can call the function with only its arguments."""
        return not int(self) & _MANDATORY

    @property
    def may_raise(self) -> bool:
        """True if a function with these flags may raise, or if these capabilities include that."""
        return bool(self & (Flags.MAY_RAISE | Flags.RETURNS_STATUS))

    @property
    def may_fall_back(self) -> bool:
        """True if a function with these flags may fall back, or if these capabilities include that."""
        return bool(self & Flags.FALLS_BACK)

    @property
    def names(self) -> list[str]:
        """The names of the flags, by bit."""
        return [flag.name for flag in Flags if flag & self and flag.name is not None]

    @property
    def text(self) -> str:
        return "|".join(self.names) or "no flags"

    def requirements(self, capabilities: int = 0) -> str:
        """Lists an entry's requirements that `capabilities` do not include, for example "needs the GIL, may raise".
        """
        missing = int(self) & _MANDATORY & ~int(capabilities)
        if not missing:
            return ""
        words = [word for flag, word in _WORDS.items() if missing & flag]
        if missing & ~sum(_WORDS):
            words.append("flags not understood")
        return ", ".join(words)


#: The flags that every user of View handles: all mandatory flags except TAKES_SELF, SETS_ERRNO and DIFFERS.
HANDLED = Flags(codes.HANDLED)
#: Flags that mean that a function needs no GIL, unless another flag requires it.
PROMISES = Flags.THREAD_SAFE | Flags.PURE


#: The enumerators of typedcall/entry_view.h, in order.
ThreadState = Literal["ANY", "ATTACHED", "DETACHED"]


class View(NamedTuple):
    """How Python sees an entry; see typedcall/entry_view.h."""

    #: The codes of the arguments and the result in Python.
    arguments: list[str]
    result: str
    #: False if the entry must not be called.
    is_usable: bool
    #: True if the C result is no value but a status, which reports the outcome.
    reports: bool
    #: True if a call may set an exception.
    may_raise: bool
    #: True if the caller may have to call the Python callable.
    may_fall_back: bool
    #: The state that the calling thread must be in: "ANY", "ATTACHED" or "DETACHED".
    thread_state: ThreadState
    #: The call succeeded if ((bits & mask) == expected) equals is_value_if_equal. If not, the facts above tell what to
    #: do.
    mask: int
    expected: int
    is_value_if_equal: bool


@dataclass(frozen=True)
class Entry:
    """One native way to call a Python object."""

    signature: str
    flags: Flags
    address: int
    #: The place where the entry was found: "instance slot", "method metadata", "PyPy metadata", "def row", "object
    #: row", "sibling symbol", or the adapter's library.
    place: str
    #: The object that keeps `address` valid.
    keep_alive: Any = field(compare=False, repr=False)

    def view(self) -> View:
        return View(*codes.describe(self.signature, self.flags))

    def python_types(self) -> tuple[list[str], str]:
        """Returns the codes of the arguments and the result in Python. If the C function writes its result through its
        last pointer, the result's code is that of the value."""
        view = self.view()
        return view.arguments, view.result

    def with_effects(self, effects: Flags) -> Entry:
        """Returns the entry with these PROMISES added. The entry's own flags take precedence, except a NEEDS_THREAD
        that was only assumed."""
        if not effects:
            return self
        flags = self.flags | effects
        if self.place == BARE_LAYOUT and not flags & Flags.MAY_RAISE:
            flags &= ~Flags.NEEDS_THREAD
        return replace(self, flags=flags)


#: The result of an adapter: a list of entries, with a reason in place of each omitted entry. A reason continues a
#: sentence that begins with the function's name. None if the object is not from the adapter's library.
Found = Optional[list[Union[Entry, str]]]


def row_of(entry: Entry) -> tuple[str, int, int]:
    """Returns the entry as extension modules expect it."""
    return entry.signature, int(entry.flags), entry.address


def has_buffers(entry: Entry) -> bool:
    """True if an argument in Python becomes two arguments in C."""
    return "*" in entry.signature


def falling_back(signature: str, flags: int = 0) -> tuple[str, Flags] | None:
    """Returns the signature and the flags of the entry that falls back and has this signature in Python, or None.
    `flags` are its other flags."""
    text = _with_place(signature)
    return None if text is None else (text, Flags(flags) | Flags.FALLS_BACK)


def _with_place(signature: str) -> str | None:
    arguments, result = parse_signature(signature)
    if result == "v":
        # The last pointer would be the place of a result.
        return None if arguments and codes.is_place(arguments[-1]) else "".join(arguments) + "->i"
    # At most 127 arguments, as C counts them, have a signature.
    words = len(arguments) + sum([letters.startswith("*") for letters in arguments])
    if codes.pointee(result) != result or words == 127:
        return None
    return "".join(arguments) + f"&{result}->i"


def matching(found: list[Entry], signature: str, casting: str = "equivalent") -> list[Entry]:
    """Returns the entries that match a signature, grouped by place (docs/ABI.md, section 8). In each group, exact
    matches come first, and then equivalent ones unless `casting` is "exact"."""
    answering: list[Entry] = []
    equivalent: list[Entry] = []
    place = None
    # No lambda or generator, because CPython 3.12 and 3.13 crash if memory runs out while one is made.
    for entry in found:
        if entry.place != place:
            answering += equivalent
            place, equivalent = entry.place, []
        if entry.signature == signature:
            answering.append(entry)
        elif casting != "exact" and codes.answers(entry.signature, signature) and _has_same_place(entry, signature):
            equivalent.append(entry)
    return answering + equivalent


def _has_same_place(entry: Entry, signature: str) -> bool:
    """True if the function writes its result where this matching signature expects it, or does not write it. Other
    arguments may be const even if this was not requested."""
    if not entry.view().reports:
        return True
    own, asked = (parse_signature(text)[0] for text in (entry.signature, signature))
    return not own or codes.is_place(own[-1]) == codes.is_place(asked[-1])
