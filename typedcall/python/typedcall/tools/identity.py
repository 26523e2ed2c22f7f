"""A table keyed by the identity of objects. The objects' `__eq__` and `__hash__` are never called."""
from __future__ import annotations

import weakref
from typing import Any, Callable, Generic, TypeVar

from typedcall.tools.locks import RenewedLock

__all__ = ["IdentityTable"]

Value = TypeVar("Value")


class IdentityTable(Generic[Value]):
    """Maps objects to values. Objects that do not support weak references are kept alive until pop(). Tables are for
    global variables, because their locks are never freed."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[Callable[[], Any], Value]] = {}
        # The lock is re-entrant, because a weak reference's callback may run while it is held.
        self._lock = RenewedLock()

    def get(self, key: Any) -> Value | None:
        row = self._rows.get(id(key))
        # Another object may have the same id before the callback has run.
        return row[1] if row is not None and row[0]() is key else None

    def put(self, key: Any, value: Value) -> None:
        number = id(key)

        def drop(dead: Any) -> None:
            with self._lock.lock:
                row = self._rows.get(number)
                if row is not None and row[0] is dead:
                    del self._rows[number]

        reference: Callable[[], Any]
        try:
            reference = weakref.ref(key, drop)
        except TypeError:
            reference = lambda: key  # noqa: E731
        with self._lock.lock:
            self._rows[number] = reference, value

    def pop(self, key: Any) -> Value | None:
        with self._lock.lock:
            value = self.get(key)
            if value is not None:
                del self._rows[id(key)]
            return value
