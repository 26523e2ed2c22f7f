"""The record in Python: what an object offers (Entry), and what its flags mean (Flags). In Python,
because every interpreter and every adapter needs it."""
from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, List, Tuple

from typedcall._codes import parse_signature

__all__ = ["EVERYTHING", "Entry", "Flags", "parse_signature"]

#: Honours whatever an entry may ask of its caller.
EVERYTHING = 0xFFFF
#: What a caller must understand, and what no version has given a meaning.
_MANDATORY = 0xFF000000 | EVERYTHING


class Flags(enum.IntFlag):
    """What a signature does not say. Values and meanings: docs/ABI.md, section 3."""

    NEEDS_THREAD = 0x0001
    ACQUIRES_GIL = 0x0002
    MAY_RAISE = 0x0004
    ERROR_IS_NEG_ZERO = 0x0008
    RETURNS_STATUS = 0x0010
    TAKES_SELF = 0x0020
    SETS_ERRNO = 0x0040
    DIFFERS = 0x0080
    THREAD_SAFE = 0x010000
    PURE = 0x020000
    SHORT = 0x040000

    @property
    def is_plain(self) -> bool:
        """Can the function be called from anywhere, without the GIL, with its arguments alone?"""
        return not int(self) & _MANDATORY

    @property
    def is_thread_safe(self) -> bool:
        """May threads without the GIL be in the function, several at once? So may they in one that
        takes the GIL itself. PURE is about results, and does not say it."""
        return bool(self & (Flags.THREAD_SAFE | Flags.ACQUIRES_GIL))

    @property
    def names(self) -> List[str]:
        """In the order of the bits."""
        return [flag.name for flag in Flags if flag & self and flag.name is not None]

    def asks(self, honours: int = 0) -> str:
        """What an entry asks of its caller beyond `honours`: "needs the GIL, may raise"; often
        nothing."""
        missing = int(self) & _MANDATORY & ~int(honours)
        words = [word for flag, word in _WORDS.items() if missing & flag]
        if missing & ~sum(_WORDS):
            words.append("flags not understood")
        return ", ".join(words)


# As typedcall/resolve/refusals.h says it.
_WORDS = {
    int(Flags.NEEDS_THREAD): "needs the GIL",
    int(Flags.ACQUIRES_GIL): "takes the GIL",
    int(Flags.MAY_RAISE): "may raise",
    int(Flags.ERROR_IS_NEG_ZERO): "error is -0.0",
    int(Flags.RETURNS_STATUS): "returns a status",
    int(Flags.TAKES_SELF): "takes self",
    int(Flags.SETS_ERRNO): "sets errno",
    int(Flags.DIFFERS): "differs from the Python callable",
}


@dataclass(frozen=True)
class Entry:
    """One native way to call a Python object: three words of the ABI and where they were found."""

    signature: str
    flags: Flags
    address: int
    #: "instance slot", "method metadata", "def row", "object row", or the adapter's library.
    place: str
    #: The object that keeps `address` valid.
    keep_alive: Any = field(compare=False, repr=False)

    def python_types(self) -> Tuple[List[str], str]:
        """The letters of what Python passes and gets: the value of a function that returns a status
        is behind its last argument, if that is a pointer."""
        arguments, result = parse_signature(self.signature)
        if self.flags & Flags.RETURNS_STATUS:
            has_value = bool(arguments) and arguments[-1].startswith("&")
            result = arguments.pop()[1:] if has_value else "v"
        return arguments, result
