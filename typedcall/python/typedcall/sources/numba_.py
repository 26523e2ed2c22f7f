"""Reads Numba's C callbacks as entries: `@cfunc` objects, and first-class functions (`WrapperAddressProtocol`)."""

from __future__ import annotations

import sys
from typing import Any

from typedcall.record.codes import letters_for
from typedcall.record.records import Entry, Flags, Found
from typedcall.tools.foreign import exact_int, imported_class, is_a

__all__ = ["entries", "letters_of"]


def letters_of(numba_type: Any, in_memory: bool = False) -> str:
    """Returns the code of a Numba type that a C callback passes. With `in_memory`, returns the code of the type stored
    behind a pointer. Raises ValueError for types without a code, such as arrays and tuples."""
    types = sys.modules["numba.core.types"]
    if isinstance(numba_type, types.NoneType):  # Numba's type for void
        return "v"
    if isinstance(numba_type, types.Boolean):
        return letters_for("bool", 1)
    if isinstance(numba_type, types.Integer):
        kind = "signed" if numba_type.signed else "unsigned"
        return letters_for(kind, numba_type.bitwidth // 8)
    if isinstance(numba_type, types.Float):
        return letters_for("floating", numba_type.bitwidth // 8)
    if isinstance(numba_type, types.Complex) and (in_memory or numba_type.bitwidth == 128):
        # Numba passes narrower complex numbers in two registers, but C uses one.
        return letters_for("complex", numba_type.bitwidth // 8)
    if isinstance(numba_type, types.CPointer):
        target = numba_type.dtype
        if isinstance(target, (types.Integer, types.Float, types.Complex)):
            return "&" + letters_of(target, in_memory=True)
        return letters_for("pointer", 8)
    if isinstance(numba_type, types.RawPointer):
        return letters_for("pointer", 8)
    raise ValueError(f"no type code for the Numba type {numba_type}")


def entries(obj: Any) -> Found:
    """Returns the entries of a `@cfunc` or a first-class function, or None for any other object. These functions
    acquire the GIL to print exceptions."""
    if "numba" not in sys.modules:
        return None
    if is_a(obj, imported_class("numba.core.ccallback", "CFunc")):
        address, signature = obj.address, obj._sig
    elif is_a(obj, imported_class("numba.core.types.function_type", "WrapperAddressProtocol")):
        address, signature = obj.__wrapper_address__(), obj.signature()
    elif is_a(obj, imported_class("numba.core.registry", "CPUDispatcher")):
        return ["a function of numba.njit has no C function with plain arguments; numba.cfunc makes one from it"]
    else:
        return None
    address, arguments = exact_int(address), signature.args
    if address is None or not is_a(arguments, tuple):
        return ["its address is not an int, or its arguments are not a tuple"]
    try:
        text = "".join(map(letters_of, arguments)) + "->" + letters_of(signature.return_type)
    except ValueError as error:
        return [str(error)]
    return [Entry(text, Flags.ACQUIRES_GIL | Flags.THREAD_SAFE, address, "Numba", obj)]
