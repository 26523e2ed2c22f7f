"""Makes typed functions available as ufuncs: typedcall.ufuncs.MODULE.FUNCTION."""

from __future__ import annotations

import sys
from typing import Any

from typedcall.numpy.ufunc import _is_special, _Names


def __getattr__(name: str) -> Any:
    if _is_special(name) and name not in sys.modules:  # `__main__` is also a module
        raise AttributeError(name)
    return _Names(name)
