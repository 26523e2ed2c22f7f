"""cffi's compiled half, which converts and calls: cffi itself, with its parser, is a hundred times as
slow to import and not needed."""
from __future__ import annotations

import functools
from typing import Any

__all__ = ["ffi", "pointer_to"]


@functools.cache
def ffi() -> Any:
    """One for all: old versions leak a reference with each. ImportError without cffi."""
    import _cffi_backend  # type: ignore[import-untyped,unused-ignore]

    return _cffi_backend.FFI()


def pointer_to(ctype: str, address: int, keep_alive: Any = None) -> Any:
    """A pointer of that type, `double(*)(double)`, which keeps `keep_alive`."""
    pointer = ffi().cast(ctype, address)
    if keep_alive is None:
        return pointer
    # A "destructor" that does nothing, but lives, with what it holds, as long as the pointer.
    return ffi().gc(pointer, lambda pointer, kept=keep_alive: None)
