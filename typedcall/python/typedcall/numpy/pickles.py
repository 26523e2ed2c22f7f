"""Pickles ufuncs of typed functions. NumPy would pickle only a name, and would not explain a failure in a process that
lacks the module."""
from __future__ import annotations

import copyreg
from typing import Any, Callable

from typedcall.calling.pickles import in_pickle, read
from typedcall.tools.locks import RenewedLock

__all__ = ["pickle_by_origin", "show_loops"]

# The function that recreates ufuncs of typed functions, and NumPy's own function for all others.
_registering = RenewedLock()
_registered: list[tuple[Callable[..., Any], Callable[[Any], Any]]] = []


def pickle_by_origin(kind: type, again: Callable[..., Any]) -> None:
    """Makes ufuncs of typed functions pickle as a call to `again`, which must be importable. `kind` is the type of all
    ufuncs."""
    with _registering.lock:
        if not _registered:
            others: Any = copyreg.dispatch_table.get(kind)
            _registered.append((again, others or (lambda ufunc: ufunc.__name__)))
            copyreg.pickle(kind, _reduce)


def _reduce(ufunc: Any) -> Any:
    again, reduce_other = _registered[0]
    origin = _origin_of(ufunc)
    if origin is None:
        return reduce_other(ufunc)
    function, name, signature, _ = origin
    return read, (again, in_pickle(function), name, signature, show_loops(ufunc))


def _origin_of(ufunc: Any) -> Any:
    from typedcall.numpy._numpy_bridge import origin_of

    return origin_of(ufunc)


def show_loops(ufunc: Any) -> str:
    """Returns everything that determines a ufunc's result types and shapes. Loops that were added for the types of a
    call follow from the others."""
    own = ufunc.types[:_origin_of(ufunc)[3]]
    return " ".join([*own, *([ufunc.signature] if ufunc.signature else [])])
