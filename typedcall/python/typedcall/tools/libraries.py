"""Determines whether an address is in a loaded library. Any other address may belong to a callback into Python,
because ctypes, cffi and JIT compilers write code into memory that is not mapped from a file."""

from __future__ import annotations

import functools
import os
from typing import Any

__all__ = ["library_of"]


@functools.cache
def _dladdr() -> Any:
    """Returns the C library's dladdr() and a type for its result. Returns None if they are not available. In Python
    3.12, ctypes does not support interpreters with their own GIL."""
    try:
        import ctypes

        # A separate library object is used, because other code could change the argument types of a shared one.
        found = ctypes.CDLL(None).dladdr
    except (ImportError, OSError, AttributeError):
        return None
    found.argtypes, found.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int
    return found, ctypes.c_void_p * 4  # the four fields of Dl_info


def _info(address: int) -> Any:
    """Returns (file, its start, symbol before the address, address of that symbol), or None if unknown."""
    known = _dladdr()
    if known is None:
        return None
    function, room = known
    info = room()
    return info if function(address, info) else None


def _text(pointer: Any) -> str:
    import ctypes

    return os.fsdecode(ctypes.cast(pointer, ctypes.c_char_p).value or b"")


def library_of(address: int) -> str | None:
    """Returns the file from which the address is mapped, or None."""
    info = _info(address)
    return None if info is None else _text(info[0])
