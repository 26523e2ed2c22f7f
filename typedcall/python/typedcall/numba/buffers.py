"""Passes arrays to typed functions in Numba's nopython code."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from typedcall.record.codes import CODES, is_buffer, is_const, pointee

__all__ = ["check_elements", "check_items", "is_copied", "parts_of", "takes_array", "why_not_array"]


def takes_array(letters: str) -> bool:
    """True if nopython code passes an array for this type. Arrays are passed for buffers, and for pointers to bools,
    whose bytes must be checked."""
    return is_buffer(letters) or letters in ("&?", "&k?")


def check_elements(letters: str) -> None:
    """Raises ValueError if Numba has no arrays with elements of the buffer's type."""
    code = CODES[pointee(letters)]
    if code.kind == "string":
        # A Numba str contains UTF-8 only if it is ASCII, and its type does not show this.
        raise ValueError(f"Numba has no UTF-8 for {letters!r}; offer '*kB' and pass bytes")
    if code.kind in ("floating", "complex") and code.size > (8 if code.kind == "floating" else 16):
        raise ValueError(f"Numba has no arrays for {letters!r} ({code.c_type})")


def why_not_array(given: Any, letters: str) -> str:
    """Returns the reason why values of a Numba type do not fit an array parameter, or "". Arrays must be
    one-dimensional and contiguous. Numba also treats bytes, bytearrays and memoryviews as arrays."""
    code = CODES[pointee(letters)]
    if isinstance(given, types.ArrayCTypes):
        return "pass the array itself, whose length is known"
    if isinstance(given, types.UnicodeType):
        return "a str is not an array; pass bytes, made by its encode() outside compiled code"
    if isinstance(given, (types.BaseTuple, types.List, types.ListType)):
        return f"{given} is not an array; use numpy.array(...)"
    if not isinstance(given, types.Buffer):
        return f"{given} is not an array"
    element = given.dtype
    kinds = {
        "bool": isinstance(element, types.Boolean),
        "signed": isinstance(element, types.Integer) and element.signed,
        "unsigned": isinstance(element, types.Integer) and not element.signed,
        "floating": isinstance(element, types.Float),
        "complex": isinstance(element, types.Complex),
    }
    size = 1 if isinstance(element, types.Boolean) else getattr(element, "bitwidth", 0) // 8
    if not kinds.get(code.kind) or size != code.size:
        return f"its elements are {element}, not '{code.letters}' ({code.c_type})"
    if given.ndim != 1:
        return f"it has {given.ndim} dimensions, not one"
    # Numba gives a column of a Fortran-ordered array the layout "F".
    if given.layout not in ("C", "F"):
        return "its type does not say that it is contiguous"
    if not is_const(letters) and not given.mutable:
        return f"it is read-only, and '{letters}' is written to"
    return ""


def is_copied(letters: str) -> bool:
    """True if compiled code can pass a copy of a buffer of this type to the Python function."""
    return is_buffer(letters) and letters != "*s"


def parts_of(context: Any, builder: Any, given: Any, value: Any) -> tuple[Any, Any]:
    """Returns the array's pointer and number of elements, as values in the generated code."""
    from numba.np.arrayobj import make_array

    array = make_array(given)(context, builder, value)
    return array.data, array.nitems


def check_items(context: Any, builder: Any, letters: str, pointer: Any, count: Any) -> None:
    """Writes code that raises ValueError for misaligned items, and for bools other than 0 and 1 that must not be
    changed. C compilers rely on such items being absent, but Numba's types do not exclude them."""
    if CODES[pointee(letters)].kind == "bool":
        (_check_bools if is_const(letters) else _make_bools)(context, builder, pointer, count)
        return
    alignment = CODES[pointee(letters)].alignment
    if alignment == 1:
        return
    word = ir.IntType(64)
    low = builder.and_(builder.ptrtoint(pointer, word), ir.Constant(word, alignment - 1))
    # An empty array.array may have an odd address, but is not misaligned.
    bad = builder.and_(builder.icmp_unsigned("!=", low, ir.Constant(word, 0)),
                       builder.icmp_unsigned("!=", count, ir.Constant(count.type, 0)))
    with builder.if_then(bad, likely=False):
        text = f"the buffer's items are not aligned to {alignment} bytes"
        context.call_conv.return_user_exc(builder, ValueError, (text,))


def _make_bools(context: Any, builder: Any, pointer: Any, count: Any) -> None:
    """Writes code that changes bytes other than 0 and 1 to 1, in buffers that C code may write to."""
    byte = ir.IntType(8)
    bytes_ = builder.bitcast(pointer, byte.as_pointer())
    with cgutils.for_range(builder, count) as loop:
        place = builder.gep(bytes_, [loop.index])
        with builder.if_then(builder.icmp_unsigned(">", builder.load(place), ir.Constant(byte, 1)), likely=False):
            builder.store(ir.Constant(byte, 1), place)


def _check_bools(context: Any, builder: Any, pointer: Any, count: Any) -> None:
    """Writes code that refuses bytes other than 0 and 1. A view of any bytes can be an array of bools in Numba, but a
    C function may misbehave on a 2."""
    byte = ir.IntType(8)
    bytes_ = builder.bitcast(pointer, byte.as_pointer())
    together = cgutils.alloca_once_value(builder, ir.Constant(byte, 0))
    # The slot is in the entry block, so it may contain the value of an earlier iteration.
    builder.store(ir.Constant(byte, 0), together)
    with cgutils.for_range(builder, count) as loop:
        each = builder.load(builder.gep(bytes_, [loop.index]))
        builder.store(builder.or_(builder.load(together), each), together)
    bad = builder.icmp_unsigned(">", builder.load(together), ir.Constant(byte, 1))
    with builder.if_then(bad, likely=False):
        text = "the buffer has bytes other than 0 and 1, which are not bools"
        context.call_conv.return_user_exc(builder, ValueError, (text,))
