"""What typedcall.resolve() returned, as a typed function: it offers the one entry that it is of."""

from __future__ import annotations

from typing import Any

from typedcall._api import TypedFunction
from typedcall._foreign import is_a
from typedcall._records import Entry, Flags, Found

__all__ = ["entries"]


def entries(obj: Any) -> Found:
    """The entry of a TypedFunction; None for anything else. A method's offers nothing: the self that
    it passes is the method's, and consumers would pass the TypedFunction."""
    if not is_a(obj, TypedFunction):
        return None
    flags = Flags(obj.flags)
    if flags & Flags.TAKES_SELF:
        return ["it was resolved of a method, whose self it passes: resolve the method itself"]
    return [Entry(obj.signature, flags, obj.address, obj.place, obj)]
