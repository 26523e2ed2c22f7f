"""Chooses the entries for another library, or explains why none fits."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator
from typing import Any, Callable

from typedcall.calling.api import entries
from typedcall.record.codes import CODES, WHY_NOTHING, rank
from typedcall.record.records import HANDLED, Entry, Flags, matching, parse_signature, row_of
from typedcall.sources import why_not
from typedcall.tools.foreign import few, is_unbound, name_of
from typedcall.tools.parameters import parameters_of

__all__ = ["NUMBERS", "TENSORS", "VALUES", "extension_of", "is_alone", "nothing_offered", "offered", "rows_to_rank",
           "usable", "valueless", "why_nothing"]

#: The argument codes that every runtime can pass: real numbers of at most 64 bits.
NUMBERS = frozenset(letters for letters, code in CODES.items()
                    if code.kind in ("bool", "signed", "unsigned", "floating") and code.size <= 8)
# Codes that match a str exactly; empty without the extension module.
_TEXTS = {letters for letters in CODES if not WHY_NOTHING and rank("STR", letters) == 1}
VALUES = NUMBERS | _TEXTS | {"*s", "*kB"}
#: The argument codes of runtimes that also pass arrays as buffers.
TENSORS = VALUES | {each + letters for each in ("*", "*k") for letters in (*NUMBERS, "Zf", "Zd")}
_RESULTS = NUMBERS | _TEXTS | {"v"}


def offered(function: Any) -> list[Entry]:
    """Returns the entries for callers that pass no self. An unbound method has none."""
    return [] if is_unbound(function) else entries(function)


def why_nothing(function: Any) -> list[str]:
    """Returns the reasons why offered() returns no entries."""
    if is_unbound(function) and entries(function):
        return ["it is an unbound method, to which Python passes self first; take the method of an instance"]
    return why_not(function)


def nothing_offered(function: Any) -> str:
    """Returns an error message for a function without entries."""
    reasons = few(why_nothing(function), "; ")
    return f"offers no typed function: {reasons}" if reasons else "offers no typed function; tag it with typedcall.tag"


def usable(
    function: Any,
    consumer: str,
    obstacle: Callable[[Entry], str],
    found: list[Entry],
    signature: str | None = None,
    capabilities: Flags = HANDLED,
) -> list[Entry]:
    """Returns the entries of `found` that a consumer with these capabilities can call. `found` is everything that the
    function offers. If a signature is given, returns only its entries, followed by those of equivalent signatures.
    `obstacle` returns another reason why an entry cannot be used, or "". Raises ValueError for a faulty signature.
    Raises TypeError if no entry is usable. Entries are not looked up again, because the tag may have changed."""
    if signature is not None:
        parse_signature(signature)
    wanted = found if signature is None else matching(found, signature)
    kept = [entry for entry in wanted if not entry.flags.requirements(capabilities) and not obstacle(entry)]
    if not kept:
        reasons = [_asked_beyond(capabilities, entry, consumer) or obstacle(entry) or f"is not '{signature}'"
                   for entry in found]
        listed = few([f"'{entry.signature}' {reason}" for entry, reason in zip(found, reasons)], "; ")
        raise TypeError(
            f"{name_of(function)} has nothing for {consumer}: {listed or 'it ' + nothing_offered(function)}"
        )
    return kept


def _asked_beyond(capabilities: Flags, entry: Entry, consumer: str) -> str:
    """Names the capability that the consumer lacks, and suggests a function to offer instead."""
    reason = entry.flags.requirements(capabilities)
    missing = entry.flags & ~capabilities
    if missing.may_fall_back:
        reason += (
            f", and {consumer} cannot call the Python function then; offer a function beside it "
            "that has a result for all arguments (nan, say)"
        )
    elif missing.may_raise:
        reason += (
            f", and {consumer} cannot handle exceptions; offer a function beside it that has a "
            "result for all arguments (nan, say), or one that falls back for callers that can call Python"
        )
    return reason


def rows_to_rank(found: list[Entry], kept: list[Entry]) -> tuple[tuple[str, int, int], ...]:
    """Returns the rows of all overloads, for a choice by the arguments' values. An entry that is not in `kept` gets
    the address 0, because the consumer cannot call it."""
    called = set(map(id, kept))
    among = [entry for entry in found if id(entry) in called or not entry.flags & Flags.DIFFERS]
    return tuple([row_of(entry) if id(entry) in called else (entry.signature, int(entry.flags), 0) for entry in among])


def is_alone(function: Any, overloads: list[list[str]]) -> bool:
    """True if a function has no overloads; `overloads` are the argument codes of its entries. Entries that differ
    only by omitting arguments with defaults do not count as overloads. A bool parameter of a function without
    overloads accepts any value, as its truth value."""
    counts = [len(letters) for letters in overloads]
    if len(counts) == 1:
        return True
    known, whole = parameters_of(function), max(overloads, key=len, default=[])
    return (known is not None and len(known.names) == len(whole) and len(set(counts)) == len(counts)
            and all(known.optional[min(counts):]) and not [each for each in overloads if each != whole[:len(each)]])


def valueless(entry: Entry, consumer: str, arguments: Container[str] = VALUES) -> str:
    """Returns an obstacle for usable() if the consumer lacks the type of an argument or of the result."""
    given, result = entry.python_types()
    for letters in given:
        if letters not in arguments:
            return f"has an argument '{letters}', for which {consumer} has no value"
    return "" if result in _RESULTS else f"has a result '{result}', for which {consumer} has no value"


@contextlib.contextmanager
def extension_of(user: str, whose: str = "which CPython's package has") -> Iterator[None]:
    """Explains why an extension module cannot be imported."""
    try:
        yield
    except ImportError as error:
        if WHY_NOTHING:
            raise ImportError(f"{user} needs its extension module: {WHY_NOTHING}") from error
        raise ImportError(f"{user} needs its extension module, {whose}: {error}") from error
