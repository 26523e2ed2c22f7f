"""The functions of the package as this interpreter has them: on CPython by its extension module, on
PyPy in Python and by cffi."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

# To a type checker PyPy's functions are CPython's.
if TYPE_CHECKING or sys.implementation.name != "pypy":
    from typedcall._api import (
        TypedFunction,
        adopt,
        entries,
        resolve,
        signatures,
        tag,
        untag,
    )
else:
    from typedcall._pypy_api import (
        TypedFunction,
        adopt,
        entries,
        resolve,
        signatures,
        tag,
        untag,
    )

__all__ = ["TypedFunction", "adopt", "entries", "resolve", "signatures", "tag", "untag"]
