"""Passes None and Optionals to typed functions in Numba's nopython code. An Optional is None or a value of its type.
Overloads are chosen by that type. If a number or an array is None, the Python function is called."""

# mypy: disable-error-code="no-untyped-call,attr-defined,misc"
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from typedcall.record.codes import kind_of

__all__ = ["inner", "is_none", "is_optional", "points", "unwrapped"]


def is_optional(given: Any) -> bool:
    return isinstance(given, types.Optional)


def inner(given: Any) -> Any:
    """Returns the type of an Optional's values, or any other type unchanged."""
    return given.type if is_optional(given) else given


def is_none(given: Any) -> bool:
    """True for the type of None, and for a default that is None."""
    return isinstance(given, types.NoneType) or isinstance(given, types.Omitted) and given.value is None


def points(letters: str) -> bool:
    """True if a parameter is a pointer, which is NULL for None."""
    return kind_of(letters) == "pointer"


def unwrapped(context: Any, builder: Any, given: Any, value: Any) -> tuple[Any, Any, Any]:
    """Returns the type and the value of an argument, and a condition that is true if it is not None. The condition is
    None if the argument is always present. An absent value is replaced by zeros: its bits are undefined."""
    if isinstance(given, types.NoneType):
        return given, value, ir.Constant(ir.IntType(1), 0)
    if not is_optional(given):
        return given, value, None
    pair = context.make_helper(builder, given, value=value)
    is_present = cgutils.as_bool_bit(builder, pair.valid)
    value = builder.select(is_present, pair.data, ir.Constant(pair.data.type, None))
    if isinstance(given.type, types.IntEnumMember):
        return given.type.dtype, context.cast(builder, value, given.type, given.type.dtype), is_present
    return given.type, value, is_present
