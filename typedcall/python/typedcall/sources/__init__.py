"""What offers typed functions beside native tables: what resolve() returned, and functions of other
libraries, one module for each. None of them imports its library: what is not imported has made no
object that could be asked about."""
from __future__ import annotations

import functools
import importlib
from typing import Any, Callable, List, Optional, Tuple

from typedcall._records import Entry

__all__ = ["foreign_entries"]

#: In the order in which they are asked.
_MODULES = ("resolved_", "ctypes_", "cffi_", "cython_", "numba_", "numpy_", "scipy_")


@functools.lru_cache(maxsize=None)
def _adapters() -> Tuple[Callable[[Any], Optional[List[Entry]]], ...]:
    return tuple(importlib.import_module(__name__ + "." + name).entries for name in _MODULES)


def foreign_entries(obj: Any) -> List[Entry]:
    """What the first adapter that knows the object finds."""
    for adapter in _adapters():
        found = adapter(obj)
        if found is not None:
            return found
    return []
