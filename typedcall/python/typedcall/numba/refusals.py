"""Explains why Numba code cannot pass an argument."""

# mypy: disable-error-code="no-untyped-call,attr-defined,misc"
from __future__ import annotations

from typing import Any

from numba.core import types

from typedcall.calling.choose import why_nothing as why_not_offered
from typedcall.numba.buffers import takes_array, why_not_array
from typedcall.record.codes import CODES, kind_of, pointee
from typedcall.tools.foreign import imported_class, is_a
from typedcall.tools.parameters import constant_of

__all__ = ["narrower", "why_not", "why_nothing"]

# Advice for an argument of another kind of number, by the parameter's kind.
_INSTEAD = {
    "bool": "convert it by bool(...)",
    "signed": "convert a float by int(...)",
    "unsigned": "convert a float by int(...)",
    "floating": "for a complex number use its .real or abs(...)",
}


def why_not(given: Any, letters: str) -> str:
    """Returns the reason why a parameter does not accept an argument of this Numba type."""
    if isinstance(given, types.Omitted):
        try:
            constant_of(letters, given.value)
        except ValueError as error:
            return f"its default: {error}"
    if takes_array(letters):
        return why_not_array(given, letters)
    code, kind = CODES[pointee(letters)], kind_of(letters)
    if kind != "pointer":
        if isinstance(given, types.Buffer):
            return "an array is not a number; call the function for each element, in a loop"
        instead = _INSTEAD.get(kind) if isinstance(given, (types.Number, types.Boolean)) else ""
        return f"{given} cannot be passed as {code.c_type}" + (f"; {instead}" if instead else "")
    if isinstance(given, types.Buffer):
        return "for an array pass its pointer, .ctypes"
    if isinstance(given, types.ArrayCTypes):
        return f"its elements are {given.dtype}, not '{code.letters}' ({code.c_type})"
    return f"{given} is not a pointer; pass the .ctypes of an array"


def narrower(letters: str) -> str:
    """Returns the conversion to write around an integer that may be too wide."""
    code = CODES[letters]
    return f"numpy.{'' if code.kind == 'signed' else 'u'}int{8 * code.size}(...)"


def why_nothing(function: Any) -> list[str]:
    """Returns the reasons why a callable has no entries."""
    if is_a(function, imported_class("numpy", "ufunc")) and function.nout != 1:
        return [f"it has {function.nout} results, and a typed function has one; call it in `with numba.objmode(...):`"]
    return why_not_offered(function)
