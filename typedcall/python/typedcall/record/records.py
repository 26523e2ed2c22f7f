"""The record in Python: the entries of an object (Entry) and the meaning of their flags (Flags). In
Python, because every interpreter and every adapter needs it."""
from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Optional, Union

from typedcall.record import codes
from typedcall.record.codes import parse_signature

__all__ = ["BARE_LAYOUT", "EVERYTHING", "HANDLED", "PROMISES", "Entry", "Flags", "Found", "View", "falling_back", "has_buffers", "matching", "parse_signature", "row_of"]

#: Everything that an entry may require of its caller.
EVERYTHING = codes.MANDATORY_MASK
#: The place of an entry in PyPy's own struct or the seed post's, which have no flags: such an entry is
#: assumed to need the GIL, and not to raise.
BARE_LAYOUT = "PyPy metadata"
#: The flags that a caller must understand, and bits without a meaning so far.
_MANDATORY = codes.ABI_MASK | codes.MANDATORY_MASK
_BITS = {name: bit for name, bit, _ in codes.FLAGS}
_WORDS = {bit: words for _, bit, words in codes.FLAGS if bit & codes.MANDATORY_MASK}


class Flags(enum.IntFlag):
    """Properties that a signature does not show: docs/ABI.md, section 3."""

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
        """True if the function can be called from anywhere, without the GIL, with its arguments alone."""
        return not int(self) & _MANDATORY

    @property
    def names(self) -> list[str]:
        """The names, in the order of the bits."""
        return [flag.name for flag in Flags if flag & self and flag.name is not None]

    @property
    def text(self) -> str:
        return "|".join(self.names) or "no flags"

    def asks(self, capabilities: int = 0) -> str:
        """Lists an entry's requirements beyond `capabilities`: "needs the GIL, may raise"; often
        empty."""
        missing = int(self) & _MANDATORY & ~int(capabilities)
        if not missing:
            return ""
        words = [word for flag, word in _WORDS.items() if missing & flag]
        if missing & ~sum(_WORDS):
            words.append("flags not understood")
        return ", ".join(words)


#: The flags handled by a caller that calls entries by their view, as the extension modules do: all but self, errno
#: and DIFFERS.
HANDLED = Flags(codes.HANDLED)
#: Flags that show that a function needs no GIL, unless another flag says the contrary.
PROMISES = Flags.THREAD_SAFE | Flags.PURE


class View(NamedTuple):
    """An entry as Python sees it: typedcall/entry_view.h."""

    #: The codes that Python passes and receives.
    arguments: list[str]
    result: str
    #: How the C function reports its outcome: "RESULT", "MAY_RAISE", "ASK", "STATUS" or "FALLS_BACK"; "UNUSABLE"
    #: for an entry that must not be called.
    verdict: str
    #: The thread state in which it is called: "NOTHING" (any), "THREAD" (attached) or "NO_GIL".
    hold: str
    #: If ((bits & mask) == expected) is is_value_if_equal, the C result alone proves that the call succeeded.
    mask: int
    expected: int
    is_value_if_equal: bool


@dataclass(frozen=True)
class Entry:
    """One native way to call a Python object: three words of the ABI and their source."""

    signature: str
    flags: Flags
    address: int
    #: "instance slot", "method metadata", "PyPy metadata", "def row", "object row", "sibling symbol",
    #: or the adapter's library.
    place: str
    #: The object that keeps `address` valid.
    keep_alive: Any = field(compare=False, repr=False)

    def view(self) -> View:
        return View(*codes.describe(self.signature, self.flags))

    def python_types(self) -> tuple[list[str], str]:
        """Returns the codes that Python passes and receives: a function that returns a status or
        falls back has its result behind the last argument, if that is a pointer to write through."""
        view = self.view()
        return view.arguments, view.result

    def with_effects(self, effects: Flags) -> Entry:
        """Returns the entry with these PROMISES added. They do not override its own flags; a layout without
        flags says nothing about the GIL."""
        if not effects:
            return self
        flags = self.flags | effects
        if self.place == BARE_LAYOUT and not flags & Flags.MAY_RAISE:
            flags &= ~Flags.NEEDS_THREAD
        return replace(self, flags=flags)


#: An adapter's result: entries, and for each omitted one a text with the reason, to be read after a
#: name: "its argtypes are not set". None if the object is not from the adapter's library.
Found = Optional[list[Union[Entry, str]]]


def row_of(entry: Entry) -> tuple[str, int, int]:
    """Returns its three words, as extension modules expect them."""
    return entry.signature, int(entry.flags), entry.address


def has_buffers(entry: Entry) -> bool:
    """True if C receives two arguments for one of Python's."""
    return "*" in entry.signature


def falling_back(signature: str) -> str | None:
    """Returns the signature of an entry with FALLS_BACK and these results in Python; None if there
    is none."""
    arguments, result = parse_signature(signature)
    if result == "v" or codes.pointee(result) != result:
        return None
    return "".join(arguments) + f"&{result}->i"


def matching(found: list[Entry], signature: str, casting: str = "equivalent") -> list[Entry]:
    """Returns the entries that answer a signature, grouped by place (docs/ABI.md, section 8): exact matches
    first, then, unless `casting` is "exact", equivalent ones."""
    answering: list[Entry] = []
    equivalent: list[Entry] = []
    place = None
    # No lambda and no generator: CPython 3.12 and 3.13 crash if memory runs out while one is made.
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
    """True if a function that returns a status, or falls back, writes its result where this signature, which the
    entry's answers, expects it. Other arguments may be const where that was not requested, but not that one."""
    if entry.view().verdict not in ("STATUS", "FALLS_BACK"):
        return True
    own, asked = (parse_signature(text)[0] for text in (entry.signature, signature))
    return not own or codes.is_place(own[-1]) == codes.is_place(asked[-1])
