"""Decides whether several threads may call a function at once, without the GIL. The entry, the module or the caller of
accelerate(trust=...) can promise this."""
from __future__ import annotations

from typing import Any, NamedTuple

from typedcall.record.records import PROMISES, Flags
from typedcall.tools.foreign import few, is_a, printable, text_attribute, type_name

__all__ = ["Trust", "read_trust", "said_by_module"]

#: The flags that permit concurrent calls, by their names in `trust`.
_WORDS = {"thread_safe": Flags.THREAD_SAFE, "pure": Flags.PURE}
_LISTED = "'thread_safe' or 'pure' for all functions of the module, or a list of their names"
#: The attribute of a module that declares an effect for all its typed functions.
_OF_MODULE = "__typedcall_effects__"


class Trust(NamedTuple):
    """The promises made in one call to accelerate()."""

    effects: Flags
    #: The names of the functions; None for all functions.
    names: frozenset[str] | None

    def of(self, name: str) -> Flags:
        return self.effects if self.names is None or name in self.names else Flags(0)

    def check(self, module: str, typed: list[str]) -> None:
        """Raises ValueError if a promised name is not that of a typed function."""
        unknown = sorted(self.names - set(typed)) if self.names is not None else []
        if unknown:
            offered = few(typed) or "it has none"
            raise ValueError(f"trust names {few(map(repr, unknown))}, but typed functions of {printable(module)} are: {offered}")


def read_trust(trust: Any) -> Trust:
    """Reads the `trust` argument of accelerate(). Raises TypeError or ValueError if it is invalid."""
    if trust is None:
        return Trust(Flags(0), None)
    if is_a(trust, str):
        if trust not in _WORDS:
            raise ValueError(f"trust={trust!r:.200} is not an effect: pass {_LISTED}, trust=[{trust!r:.200}]")
        return Trust(_WORDS[trust], None)
    if is_a(trust, Flags):
        if not trust or trust & ~PROMISES:
            raise ValueError(f"trust={trust!r:.200} is not exactly a promise about threads: it must be {_LISTED}")
        return Trust(trust, None)
    # A mapping would yield its keys, and bytes would yield ints.
    if hasattr(type(trust), "keys") or is_a(trust, bytes) or not hasattr(type(trust), "__iter__"):
        raise TypeError(f"trust is {_LISTED}, not a '{type_name(trust)}' object")
    names = list(trust)
    for name in names:
        if not is_a(name, str):
            raise TypeError(f"trust is a list of names, and {name!r:.200} is none")
    return Trust(Flags.THREAD_SAFE, frozenset(names))


def said_by_module(module: Any) -> Flags:
    """Returns the flags that a module declares for all its typed functions, if any."""
    return _WORDS.get(text_attribute(module, _OF_MODULE) or "", Flags(0))
