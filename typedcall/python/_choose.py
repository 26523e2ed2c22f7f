"""Which entry of a typed function another library gets, and what to say when there is none. Shared
by the modules that hand functions to other libraries."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

from typedcall._codes import CODES
from typedcall._records import Entry, Flags, parse_signature

__all__ = ["are_equivalent", "choose", "name_of", "offered", "refusal"]

_INTEGERS = ("signed", "unsigned")
_MUST_BE_UNDERSTOOD = 0xFFFF


def name_of(function: Any) -> str:
    """For messages: `module.name`, or what kind of object it is."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if not isinstance(name, str):
        return "a '%s' object" % type(function).__name__
    module = getattr(function, "__module__", None)
    return "%s.%s" % (module, name) if isinstance(module, str) else name


def offered(function: Any) -> List[Entry]:
    """The entries of a function; of what typedcall.resolve() returned, the resolved one."""
    if isinstance(function, Entry):
        return [function]
    if type(function).__name__ == "TypedFunction" and hasattr(function, "callable"):
        return [
            Entry(
                function.signature,
                Flags(int(function.flags)),
                int(function.address),
                function.place,
                function,
            )
        ]
    import typedcall

    return list(typedcall.entries(function))


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


def refusal(flags: Flags, honours: Flags) -> str:
    """Why an entry with these flags cannot be used, or an empty string."""
    reasons = {
        Flags.MAY_RAISE: "may raise",
        Flags.RETURNS_STATUS: "returns a status and may raise",
        Flags.NEEDS_THREAD: "needs the GIL",
        Flags.ACQUIRES_GIL: "takes the GIL itself",
        Flags.TAKES_SELF: "takes self",
        Flags.SETS_ERRNO: "sets errno",
        Flags.DIFFERS: "differs from the Python callable on some inputs",
        Flags.ERROR_IS_NEG_ZERO: "reports exceptions by -0.0",
    }
    missing = int(flags) & _MUST_BE_UNDERSTOOD & ~int(honours)
    said = [text for flag, text in reasons.items() if missing & flag]
    return " and ".join(said) or ("has unknown flags" if missing else "")


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
    usable = [e for e in wanted if not refusal(e.flags, honours) and not accepts(e)]
    exact = [entry for entry in usable if entry.signature == signature]
    if exact or usable:
        return (exact or usable)[0]
    if not found:
        raise TypeError(
            "%s offers no typed function; tag it with typedcall.tag" % name_of(function)
        )
    reasons = []
    for entry in found:
        reason = refusal(entry.flags, honours)
        if not reason:
            reason = "is not '%s'" % signature if entry not in wanted else accepts(entry)
        reasons.append("'%s' %s" % (entry.signature, reason))
    raise TypeError("%s has nothing for %s: %s" % (name_of(function), consumer, "; ".join(reasons)))
