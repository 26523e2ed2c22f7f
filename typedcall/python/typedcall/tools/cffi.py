"""Uses only the compiled half of cffi. cffi itself, with its parser, takes a hundred times as long to import."""
from __future__ import annotations

import functools
from typing import Any

from typedcall.record.codes import CODES

__all__ = ["C_TYPES", "FLOATING", "ffi", "pointer_to"]

#: The floating types that cffi knows.
FLOATING = {"f", "d", "g"}
#: cffi's types, by kind and width. Only plain C types are used, because PyPy's JIT compiles no calls with others.
C_TYPES = {
    (code.kind, code.size): "_Bool" if code.kind == "bool" else code.c_type
    for code in reversed(CODES.values())  # the first type of a kind and width wins
    if code.size <= 8 and (code.kind in ("bool", "signed", "unsigned") or code.letters in FLOATING)
}


@functools.cache
def ffi() -> Any:
    """Returns the FFI object, which is shared because old versions leak a reference with each FFI object. Raises
    ImportError without cffi."""
    import _cffi_backend  # type: ignore[import-untyped,unused-ignore]

    return _cffi_backend.FFI()


def pointer_to(ctype: str, address: int, keep_alive: Any = None) -> Any:
    """Returns a pointer of this type, such as `double(*)(double)`, that keeps `keep_alive` alive."""
    pointer = ffi().cast(ctype, address)
    if keep_alive is None:
        return pointer
    # The "destructor" does nothing, but keeps the object alive as long as the pointer lives.
    return ffi().gc(pointer, lambda pointer, kept=keep_alive: None)
