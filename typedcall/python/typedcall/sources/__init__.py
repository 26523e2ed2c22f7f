"""Reads functions of other libraries as entries, with one module for each library. No module imports its
library, because an object exists only if its library has been imported."""
from __future__ import annotations

import functools
import importlib
from typing import Any, Callable

from typedcall.record.codes import WHY_NOTHING
from typedcall.record.records import Entry, Found, parse_signature
from typedcall.tools.foreign import is_address

__all__ = ["ask_first", "foreign_entries", "why_not"]

#: The modules, in the order in which they are tried.
_MODULES = ("ctypes_", "cffi_", "cython_", "numba_", "numpy_", "scipy_")

_first: list[Callable[[Any], Found]] = []


def ask_first(adapter: Callable[[Any], Found]) -> None:
    """Registers an adapter that is tried before all others. Used for subpackages that this one must not import."""
    _first.append(adapter)


@functools.cache
def _adapters() -> tuple[Callable[[Any], Found], ...]:
    return tuple(importlib.import_module(__name__ + "." + name).entries for name in _MODULES)


def _fault(entry: Entry) -> str:
    """Returns the reason why the entry is invalid, or "". The check is needed because the entry's values come from a
    library's object."""
    if type(entry.address) is not int or not is_address(entry.address):
        return "its address is not that of a C function"
    if not 0 <= int(entry.flags) < 1 << 32:
        return "its flags are invalid"
    try:
        parse_signature(entry.signature)
    except ValueError as error:  # raised for a void argument, or too many arguments
        return str(error)
    return ""


def _found(obj: Any) -> list[Entry | str]:
    """Returns the result of the first adapter that recognizes the object. An object that raises or has invalid
    attributes counts as one without entries."""
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
    """Returns the entries that an adapter finds for the object."""
    return [each for each in _found(obj) if isinstance(each, Entry)]


def why_not(obj: Any) -> list[str]:
    """Returns the reasons why an adapter omits entries of the object."""
    # Not a generator, because CPython 3.12 and 3.13 crash if memory runs out while one is made.
    return list(dict.fromkeys([each for each in _found(obj) if isinstance(each, str)]))
