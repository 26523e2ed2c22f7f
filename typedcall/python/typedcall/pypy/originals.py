"""Records the originals of functions that accelerate() has replaced."""
from __future__ import annotations

import weakref
from collections.abc import MutableMapping
from typing import Any, NamedTuple

from typedcall.record.records import Entry
from typedcall.tools.identity import IdentityTable
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import Parameters, parameters_of

__all__ = ["find_shim", "wrapper_of"]


class _Shim(NamedTuple):
    """The data of a function that replaces another function."""

    wrapper: Any
    entries: list[Entry]
    parameters: Parameters | None


_shims: IdentityTable[_Shim] = IdentityTable()
_making = RenewedLock()
# Shims, keyed by the id() of their wrapper. Functions of extensions do not support weak references, but a shim keeps
# its wrapper alive.
_shim_of: MutableMapping[int, Any] = weakref.WeakValueDictionary()


def wrapper_of(function: Any) -> Any:
    """Returns the boxed function behind an accelerated function, or None for any other object."""
    shim = _shims.get(function)
    return None if shim is None else shim.wrapper


def find_shim(wrapper: Any, entries: list[Entry]) -> Any:
    """Returns the shim of a function, which is the same under all names. Returns None if the function cannot have a
    shim."""
    from typedcall.pypy.shims import make_shim

    with _making.lock:
        shim = _shim_of.get(id(wrapper))
        known = _shims.get(shim)
        parameters = parameters_of(wrapper)
        if known is not None and known.entries == entries and repr(known.parameters) == repr(parameters):
            return shim
        shim = make_shim(wrapper, entries)
        if shim is not None:
            _shims.put(shim, _Shim(wrapper, entries, parameters))
            _shim_of[id(wrapper)] = shim
        return shim
