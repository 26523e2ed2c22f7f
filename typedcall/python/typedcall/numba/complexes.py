"""Passes complex numbers between Numba and C as C's calling conventions require."""

# mypy: disable-error-code="no-untyped-call,misc"
from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir

__all__ = ["as_complex", "passes_narrow_complex", "passed_parts", "returned_as"]

_FLOATS = ir.LiteralStructType([ir.FloatType(), ir.FloatType()])


def passes_narrow_complex() -> bool:
    """True if it is known how C passes a `float _Complex`."""
    return platform.machine() in ("x86_64", "aarch64")


def _is_packed(of: Any) -> bool:
    """True if C passes a complex number of this type in one register. Source: System V ABI for x86-64, 3.2.3."""
    return of == _FLOATS and platform.machine() == "x86_64"


def passed_parts(builder: Any, value: Any) -> list[Any]:
    """Returns the arguments that C expects for a complex number."""
    parts = [builder.extract_value(value, 0), builder.extract_value(value, 1)]
    if not _is_packed(value.type):
        return parts
    packed = ir.Constant(ir.VectorType(ir.FloatType(), 2), ir.Undefined)
    for at, part in enumerate(parts):
        packed = builder.insert_element(packed, part, ir.Constant(ir.IntType(32), at))
    return [packed]


def returned_as(of: Any) -> Any:
    """Returns the type in which C returns a complex number whose type in Numba is `of`."""
    return ir.VectorType(ir.FloatType(), 2) if _is_packed(of) else of


def as_complex(builder: Any, result: Any, of: Any) -> Any:
    """Converts a result of C to Numba's type `of`."""
    value = ir.Constant(of, ir.Undefined)
    for at in range(2):
        part = builder.extract_element(result, ir.Constant(ir.IntType(32), at))
        value = builder.insert_value(value, part, at)
    return value
