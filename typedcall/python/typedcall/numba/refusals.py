"""Explains why Numba code cannot pass an argument."""

# mypy: disable-error-code="no-untyped-call,attr-defined,misc"
from __future__ import annotations

from typing import Any

from numba.core import types

from typedcall.calling.choose import why_nothing as why_not_offered
from typedcall.numba.buffers import takes_array, why_not_array
from typedcall.numba.read_only import ReadOnlyCTypes
from typedcall.record.codes import CODES, is_const, is_place, kind_of, pointee
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
    if isinstance(given, ReadOnlyCTypes) and given.dtype == _element(letters) and is_place(letters):
        return f"it is read-only, and '{letters}' is written to; a global array is a constant: pass it as an argument"
    if isinstance(given, types.ArrayCTypes):
        return f"its elements are {given.dtype}, not '{code.letters}' ({code.c_type})"
    of = f"{'const ' if is_const(letters) else ''}{code.c_type}{' *' if letters.startswith('&') else ''}"
    if isinstance(given, (types.CPointer, types.RawPointer)):
        own = "a void *" if isinstance(given, types.RawPointer) else f"a {given}"
        element = _element(letters)
        instead = f"; pass numba.carray(p, n, numpy.{element}).ctypes" if element is not None else ""
        return f"{own} cannot be passed as {of}{instead}"
    if isinstance(given, (types.Callable, types.FunctionType)):
        return ("compiled code has no address of a function; declare the parameter as intptr_t, and pass the function's "
                "address, taken outside compiled code")
    if isinstance(given, types.Integer):
        return f"{given} is not a pointer; pass the .ctypes of an array, or declare the parameter as intptr_t"
    return f"{given} is not a pointer; pass the .ctypes of an array"


def _element(letters: str) -> Any:
    """Returns the Numba type of the numbers that a pointer points to, or None."""
    code = CODES[pointee(letters)]
    name = {"signed": "int", "unsigned": "uint", "floating": "float", "complex": "complex"}.get(code.kind)
    return getattr(types, f"{name}{8 * code.size}", None) if letters.startswith("&") else None


def narrower(letters: str) -> str:
    """Returns the conversion to write around an integer that may be too wide."""
    code = CODES[letters]
    return f"numpy.{'' if code.kind == 'signed' else 'u'}int{8 * code.size}(...)"


def why_nothing(function: Any) -> list[str]:
    """Returns the reasons why a callable has no entries."""
    if is_a(function, imported_class("numpy", "ufunc")) and function.nout != 1:
        return [f"it has {function.nout} results, and a typed function has one; call it in `with numba.objmode(...):`"]
    return why_not_offered(function)
