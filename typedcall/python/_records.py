"""The record in Python: what an object offers (Entry), what its flags mean (Flags), and signatures
taken apart. In Python, because every interpreter and every adapter needs it."""
from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from typing import Any, List, Tuple

from typedcall._codes import CODES

__all__ = ["Entry", "Flags", "parse_signature"]


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
        return not int(self) & 0xFF00FFFF


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


_CODE = "&?(?:%s)" % "|".join(re.escape(letters) for letters in CODES if letters != "v")
_SIGNATURE = re.compile(r"(?P<arguments>(?:%s)*)->(?P<result>%s|v)" % (_CODE, _CODE))
_ARGUMENTS = re.compile(r"(?:%s)*" % _CODE)
_MOST_ARGUMENTS = 127


def parse_signature(signature: str) -> Tuple[List[str], str]:
    """'dl->d' as (['d', 'l'], 'd'); ValueError, with the position, for what is no canonical
    signature."""
    found = _SIGNATURE.fullmatch(signature)
    if found is None:
        raise _fault(signature)
    arguments = re.findall(_CODE, found.group("arguments"))
    if len(arguments) > _MOST_ARGUMENTS:
        position = sum(map(len, arguments[:_MOST_ARGUMENTS]))
        raise ValueError("signature %r at position %d: more than %d arguments"
                         % (signature, position, _MOST_ARGUMENTS))
    return arguments, found.group("result")


def _fault(signature: str) -> ValueError:
    arguments = _ARGUMENTS.match(signature)
    position = arguments.end() if arguments is not None else 0
    reason = "a type code or '->' is needed"
    if signature.startswith("->", position):
        position += 2
        reason = "a type code or 'v' is needed"
        result = re.compile(_CODE + "|v").match(signature, position)
        if result is not None:
            position, reason = result.end(), "the signature ends here"
    elif signature.startswith("-", position):
        position, reason = position + 1, "'->' is needed"
    return ValueError("signature %r at position %d: %s" % (signature, position, reason))
