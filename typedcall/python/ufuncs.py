"""Every typed function as a ufunc by its name: typedcall.ufuncs.MODULE.FUNCTION. Pickled ufuncs are
found again here."""

from __future__ import annotations

from typing import Any

from typedcall.to_numpy import _Names


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Names(name)
