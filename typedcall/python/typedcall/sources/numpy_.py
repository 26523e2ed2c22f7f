"""NumPy ufuncs as typed functions, if their loops are NumPy's generic ones, which call a scalar C
function (NumPy's own cbrt and hypot), or SciPy exports the functions in them (scipy.special)."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from typedcall.record.codes import CODES, pointee
from typedcall.record.records import Entry, Flags, Found, parse_signature
from typedcall.tools.foreign import attribute, imported_class, is_a

__all__ = ["NOT_FOLLOWED", "dtype_of", "entries", "is_special"]

_KINDS = {"bool": "?", "signed": "i", "unsigned": "u", "floating": "f", "complex": "c"}


#: How the C functions behind ufuncs of scipy.special differ from these.
NOT_FOLLOWED = ("the C functions behind ufuncs of scipy.special do not follow special.seterr(): they raise nothing and warn of "
                "nothing. Most have no float32: they give float64 where the ufunc gives float32")


def is_special(obj: Any, found: list[Entry]) -> bool:
    """True if the entries are those of a ufunc of scipy.special."""
    return is_a(obj, imported_class("numpy", "ufunc")) and any(each.place == "SciPy" for each in found)


def entries(obj: Any) -> Found:
    """Returns the entries of a ufunc; None for any other object. Complex loops yield no entries: the
    functions in NumPy's generic ones take pointers to their arguments and result, unlike any ufunc."""
    if not is_a(obj, imported_class("numpy", "ufunc")):
        return None
    from typedcall.native._native import scalar_functions

    made: list[Entry | str] = []
    for signature, address in scalar_functions(obj):
        if all(isinstance(each, str) or each.signature != signature for each in made):
            # NumPy releases the GIL around its loops.
            made.append(Entry(signature, Flags.THREAD_SAFE, address, "NumPy", obj))
    made = made or [*_special_entries(obj)]
    return made or ["the loops of this ufunc call no C function of one element that is known"]


def _special_entries(ufunc: Any) -> list[Entry]:
    """Returns the entries of a ufunc of scipy.special: its loops are SciPy's own, but SciPy exports
    the functions in them to Cython, under the same names."""
    name = ufunc.__name__
    found = attribute(sys.modules.get("scipy.special"), name)
    if found is not ufunc or ufunc.nout != 1:
        return []
    cython_special = importlib.import_module("scipy.special.cython_special")
    from typedcall.sources import cython_

    made: dict[str, Entry] = {}
    for entry in cython_.entries(getattr(cython_special, name, None)) or []:
        types = "" if isinstance(entry, str) else _types_of(entry.signature)
        # SciPy's fused types have combinations that no ufunc has; these return nan.
        if not isinstance(entry, str) and types in ufunc.types:
            keep = Entry(entry.signature, entry.flags, entry.address, "SciPy", ufunc)
            made.setdefault(types, keep)
    return list(made.values())


def dtype_of(letters: str) -> Any:
    """Returns NumPy's dtype of a code. Raises ValueError for pointers, strings and objects."""
    import numpy

    code = CODES[pointee(letters)]
    if letters != code.letters or code.kind not in _KINDS:
        raise ValueError(f"NumPy has no numbers of the type {letters!r}")
    kind = _KINDS[code.kind]
    return numpy.dtype(kind if kind == "?" else f"{kind}{code.size}")


def _types_of(signature: str) -> str:
    """Returns a signature in the notation of a ufunc's `types`, or a text that matches none."""
    arguments, result = parse_signature(signature)
    try:
        inputs = "".join(dtype_of(letters).char for letters in arguments)
        return f"{inputs}->{dtype_of(result).char}"
    except ValueError:
        return ""
