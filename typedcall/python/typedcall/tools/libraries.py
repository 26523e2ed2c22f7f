"""Which addresses are code of a loaded library. What is not may be a callback into Python: ctypes and
cffi write those, and compilers at run time theirs, into memory of no file."""

from __future__ import annotations

import functools
import os
from typing import Any

__all__ = ["library_of", "symbol_of"]


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


def _info(address: int) -> Any:
    """(file, its start, the symbol in front of the address, where that is); None where nobody can tell."""
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
    """The file that the address is mapped from; None where there is none, or nobody can tell."""
    info = _info(address)
    return None if info is None else _text(info[0])


def symbol_of(address: int) -> tuple[str, str] | None:
    """The file that the address is mapped from, and the name by which others find it there; None where
    there is none, or that finds something else."""
    info = _info(address)
    if info is None or info[3] != address:
        return None
    import ctypes

    library, symbol = _text(info[0]), _text(info[2])
    try:
        found = ctypes.CDLL(library)[symbol]
    except (OSError, AttributeError):  # the program's own file
        return None
    return (library, symbol) if ctypes.cast(found, ctypes.c_void_p).value == address else None
