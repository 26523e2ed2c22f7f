"""What offers typed functions beside native tables: what resolve() returned, and functions of other
libraries, one module for each. None of them imports its library: what is not imported has made no
object that could be asked about."""
from __future__ import annotations

import functools
import importlib
from typing import Any, Callable

from typedcall._foreign import is_address
from typedcall._records import Entry, parse_signature

__all__ = ["foreign_entries"]

#: In the order in which they are asked.
_MODULES = ("resolved_", "ctypes_", "cffi_", "cython_", "numba_", "numpy_", "scipy_")


@functools.cache
def _adapters() -> tuple[Callable[[Any], list[Entry] | None], ...]:
    return tuple(importlib.import_module(__name__ + "." + name).entries for name in _MODULES)


def _is_sound(entry: Entry) -> bool:
    """Can it be an entry? What its words are made of, an object of a library has said."""
    if type(entry.address) is not int or not is_address(entry.address):
        return False
    if not 0 <= int(entry.flags) < 1 << 32:
        return False
    try:
        parse_signature(entry.signature)
    except ValueError:  # void among the arguments, or more of them than there can be
        return False
    return True


def foreign_entries(obj: Any) -> list[Entry]:
    """What the first adapter that knows the object finds. The rule of _foreign.py holds for all that
    adapters do with it: what raises, or answers nonsense, has none."""
    for adapter in _adapters():
        try:
            found = adapter(obj)
            if found is not None:
                return [entry for entry in found if _is_sound(entry)]
        except MemoryError:
            raise
        except Exception:
            continue
    return []
