"""Functions of other libraries that offer typed functions, one module for each. None of them imports its
library: a library that is not imported has made no object that could be asked about."""
from __future__ import annotations

import functools
import importlib
from typing import Any, Callable

from typedcall.record.codes import WHY_NOTHING
from typedcall.record.records import Entry, Found, parse_signature
from typedcall.tools.foreign import is_address

__all__ = ["ask_first", "foreign_entries", "why_not"]

#: In the order in which they are asked.
_MODULES = ("ctypes_", "cffi_", "cython_", "numba_", "numpy_", "scipy_")

_first: list[Callable[[Any], Found]] = []


def ask_first(adapter: Callable[[Any], Found]) -> None:
    """Asks `adapter` before the others: for objects of the rooms above, which this one does not import."""
    _first.append(adapter)


@functools.cache
def _adapters() -> tuple[Callable[[Any], Found], ...]:
    return tuple(importlib.import_module(__name__ + "." + name).entries for name in _MODULES)


def _fault(entry: Entry) -> str:
    """Why it can be no entry, or "". What its words are made of, an object of a library has said."""
    if type(entry.address) is not int or not is_address(entry.address):
        return "its address is none of a C function"
    if not 0 <= int(entry.flags) < 1 << 32:
        return "its flags are none"
    try:
        parse_signature(entry.signature)
    except ValueError as error:  # void among the arguments, or more of them than there can be
        return str(error)
    return ""


def _found(obj: Any) -> list[Entry | str]:
    """What the first adapter that knows the object finds. The rule of foreign.py holds for all that
    adapters do with it: what raises, or answers nonsense, has none."""
    if WHY_NOTHING:
        return [WHY_NOTHING]
    for adapter in [*_first, *_adapters()]:
        try:
            found = adapter(obj)
            if found is not None:
                return [each if isinstance(each, str) else _fault(each) or each for each in found]
        except MemoryError:
            raise
        except Exception:
            continue
    return []


def foreign_entries(obj: Any) -> list[Entry]:
    """What an adapter offers of the object."""
    return [each for each in _found(obj) if isinstance(each, Entry)]


def why_not(obj: Any) -> list[str]:
    """Why an adapter that knows the object does not offer it, or not all of it; empty where none does."""
    # No generator: CPython 3.12 and 3.13 do not survive making one without memory.
    return list(dict.fromkeys([each for each in _found(obj) if isinstance(each, str)]))
