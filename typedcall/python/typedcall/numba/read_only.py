"""Gives the `.ctypes` of a read-only array a Numba type of its own. Numba's type forgets that C must not write there."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.datamodel.models import ArrayCTypesModel
from numba.core.typeconv import Conversion
from numba.core.typing.arraydecl import ArrayAttribute
from numba.extending import lower_cast, register_model

__all__ = ["ReadOnlyCTypes", "define", "tell_apart"]

_known: Any = ArrayAttribute.resolve_ctypes


class ReadOnlyCTypes(types.ArrayCTypes):
    """The type of `x.ctypes` for a read-only array, such as a global one, which is a constant of the compiled code."""

    def __init__(self, array: Any) -> None:
        super().__init__(array)
        self.name: str = f"ReadOnlyArrayCTypes(dtype={self.dtype}, ndim={self.ndim})"

    def unify(self, context: Any, other: Any) -> Any:
        """Returns this type for a variable that may also hold the `.ctypes` of a writable array."""
        return self if type(other) is types.ArrayCTypes and other.key == self.key else None

    def can_convert_from(self, context: Any, other: Any) -> Any:
        return Conversion.safe if type(other) is types.ArrayCTypes and other.key == self.key else None


# Cache files refer to this name.
ReadOnlyCTypes.__module__ = "typedcall._numba_cache"


def _resolve_ctypes(self: Any, array: Any) -> Any:
    return _known(self, array) if array.mutable else ReadOnlyCTypes(array)


def tell_apart(is_on: bool) -> None:
    """Makes Numba use the type above, or stops it."""
    attribute: Any = ArrayAttribute
    attribute.resolve_ctypes = _resolve_ctypes if is_on else _known


def define() -> None:
    """Makes registrations that are needed only once per process."""
    register_model(ReadOnlyCTypes)(ArrayCTypesModel)

    @lower_cast(types.ArrayCTypes, ReadOnlyCTypes)
    def cast(context: Any, builder: Any, given: Any, own: Any, value: Any) -> Any:
        return value
