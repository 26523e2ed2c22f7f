"""Which addresses are code of a loaded library. What is not may be a callback into Python: ctypes and
cffi write those, and compilers at run time theirs, into memory of no file."""

from __future__ import annotations

import functools
import os
from typing import Any

__all__ = ["library_of"]


@functools.cache
def _dladdr() -> Any:
    """The C library's function; None where it cannot be had, as in an interpreter with a GIL of its
    own, into which 3.12 lets no ctypes."""
    try:
        import ctypes

        # A library object of our own: nobody else can change what its functions take.
        found = ctypes.CDLL(None).dladdr
    except (ImportError, OSError, AttributeError):
        return None
    found.argtypes, found.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int
    return found, ctypes.c_void_p * 4  # the fields of Dl_info


def library_of(address: int) -> str | None:
    """The file that the address is mapped from; None where there is none, or nobody can tell."""
    known = _dladdr()
    if known is None:
        return None
    function, room = known
    info = room()
    if not function(address, info):
        return None
    import ctypes

    return os.fsdecode(ctypes.cast(info[0], ctypes.c_char_p).value or b"")
