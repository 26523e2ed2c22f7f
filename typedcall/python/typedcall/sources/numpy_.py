"""Reads NumPy ufuncs as entries. Their loops must be NumPy's generic loops (as in cbrt and hypot), or call functions
that SciPy exports (scipy.special)."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from typedcall.record.codes import CODES, pointee
from typedcall.record.records import Entry, Flags, Found, parse_signature
from typedcall.tools.foreign import attribute, imported_class, is_a

__all__ = ["NOT_FOLLOWED", "dtype_of", "entries", "is_special"]

_KINDS = {"bool": "?", "signed": "i", "unsigned": "u", "floating": "f", "complex": "c"}


#: How the C functions of scipy.special differ from the ufuncs.
NOT_FOLLOWED = ("the C functions behind ufuncs of scipy.special do not follow special.seterr(): they raise nothing and warn of "
                "nothing. Most have no float32: they give float64 where the ufunc gives float32")


def is_special(obj: Any, found: list[Entry]) -> bool:
    """True if the object is a scipy.special ufunc with these entries."""
    return is_a(obj, imported_class("numpy", "ufunc")) and any(each.place == "SciPy" for each in found)


def entries(obj: Any) -> Found:
    """Returns the entries of a ufunc, or None for any other object. Complex loops yield no entries, because their
    functions take pointers to arguments and result."""
    if not is_a(obj, imported_class("numpy", "ufunc")):
        return None
    from typedcall.native._native import scalar_functions

    made: list[Entry | str] = []
    for signature, address in scalar_functions(obj):
        if all(isinstance(each, str) or each.signature != signature for each in made):
            # The function is thread-safe, because NumPy releases the GIL around its loops.
            made.append(Entry(signature, Flags.THREAD_SAFE, address, "NumPy", obj))
    made = made or [*_special_entries(obj)]
    return made or ["the loops of this ufunc call no C function of one element that is known"]


def _special_entries(ufunc: Any) -> list[Entry]:
    """Returns the entries of a scipy.special ufunc. The functions that the loops call are also exported to Cython,
    under the same names."""
    name = ufunc.__name__
    found = attribute(sys.modules.get("scipy.special"), name)
    if found is not ufunc or ufunc.nout != 1:
        return []
    cython_special = importlib.import_module("scipy.special.cython_special")
    from typedcall.sources import cython_

    made: dict[str, Entry] = {}
    for entry in cython_.entries(getattr(cython_special, name, None)) or []:
        types = "" if isinstance(entry, str) else _types_of(entry.signature)
        # SciPy's fused types have combinations that no ufunc has, whose functions return nan.
        if not isinstance(entry, str) and types in ufunc.types:
            keep = Entry(entry.signature, entry.flags, entry.address, "SciPy", ufunc)
            made.setdefault(types, keep)
    return list(made.values())


def dtype_of(letters: str) -> Any:
    """Returns NumPy's dtype for a code. Raises ValueError for pointers, strings and objects."""
    import numpy

    code = CODES[pointee(letters)]
    if letters != code.letters or code.kind not in _KINDS:
        raise ValueError(f"NumPy has no numbers of the type {letters!r}")
    kind = _KINDS[code.kind]
    return numpy.dtype(kind if kind == "?" else f"{kind}{code.size}")


def _types_of(signature: str) -> str:
    """Converts a signature to the notation of a ufunc's `types`. Returns "" if this is not possible."""
    arguments, result = parse_signature(signature)
    try:
        inputs = "".join(dtype_of(letters).char for letters in arguments)
        return f"{inputs}->{dtype_of(result).char}"
    except ValueError:
        return ""
