"""The locks of the package's Python code. A fork copies locks, but not the threads that hold them, so the child
process replaces locks held by other threads."""
from __future__ import annotations

import os
import threading

__all__ = ["RenewedLock"]

_all: list[RenewedLock] = []


class RenewedLock:
    """A re-entrant lock, used as `with renewed.lock:`. Locks are never freed, so they are meant for global
    variables."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _all.append(self)


def _renew() -> None:
    for each in _all:
        # The thread that has forked still holds its own locks.
        if each.lock.acquire(blocking=False):
            each.lock.release()
        else:
            each.lock = threading.RLock()


os.register_at_fork(after_in_child=_renew)
