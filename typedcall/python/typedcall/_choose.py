"""Which entry of a typed function another library gets, and what to say when there is none. Shared
by the modules that hand functions to other libraries."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

from typedcall._codes import CODES
from typedcall._foreign import printable, text_attribute, type_name
from typedcall._records import Entry, Flags, parse_signature

__all__ = ["are_equivalent", "choose", "name_of", "offered"]

_INTEGERS = ("signed", "unsigned")


def name_of(function: Any) -> str:
    """For messages: `module.name`, or what kind of object it is."""
    name = text_attribute(function, "__qualname__") or text_attribute(function, "__name__")
    if not name:
        return "a '%s' object" % printable(type_name(function))
    module = text_attribute(function, "__module__")
    return printable("%s.%s" % (module, name) if module else name)


def offered(function: Any) -> List[Entry]:
    """typedcall.entries(), for modules that it imports."""
    import typedcall

    return typedcall.entries(function)


def _class_of(letters: str) -> str:
    """Equal for types of the same width and class, as the resolver has it."""
    code = CODES[letters.lstrip("&")]
    known = "%s%d" % (code.kind, code.size) if code.kind in _INTEGERS else code.letters
    return letters[: -len(code.letters)] + known


def are_equivalent(one: str, other: str) -> bool:
    """Are two signatures the same but for names of integers, such as `l` and `q`?"""
    one_arguments, one_result = parse_signature(one)
    other_arguments, other_result = parse_signature(other)
    return list(map(_class_of, one_arguments + [one_result])) == list(
        map(_class_of, other_arguments + [other_result])
    )


def choose(
    function: Any,
    signature: Optional[str],
    honours: Flags,
    consumer: str,
    accepts: Callable[[Entry], str] = lambda entry: "",
) -> Entry:
    """The entry with this signature, else an equivalent one; without a signature the only one that
    can be used. `accepts` returns why an entry will not do, or "". ValueError for a faulty
    signature, TypeError that lists what is offered, and why it does not do, when there is none."""
    if signature is not None:
        parse_signature(signature)
    found = offered(function)
    wanted = [
        entry for entry in found if signature is None or are_equivalent(entry.signature, signature)
    ]
    usable = [e for e in wanted if not e.flags.asks(honours) and not accepts(e)]
    exact = [entry for entry in usable if entry.signature == signature]
    if exact or usable:
        return (exact or usable)[0]
    if not found:
        raise TypeError(
            "%s offers no typed function; tag it with typedcall.tag" % name_of(function)
        )
    reasons = []
    for entry in found:
        reason = entry.flags.asks(honours)
        if not reason:
            reason = "is not '%s'" % signature if entry not in wanted else accepts(entry)
        reasons.append("'%s' %s" % (entry.signature, reason))
    raise TypeError("%s has nothing for %s: %s" % (name_of(function), consumer, "; ".join(reasons)))
