"""The locks of the package's Python code. A fork copies the state of locks, but not the threads that hold them, so
the child process replaces all locks held by other threads."""
from __future__ import annotations

import os
import threading

__all__ = ["RenewedLock"]

_all: list[RenewedLock] = []


class RenewedLock:
    """A re-entrant lock, used as `with renewed.lock:`. It is meant for global variables, because it is never
    freed."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _all.append(self)


def _renew() -> None:
    for each in _all:
        # The thread that has forked continues in the child, and still holds its own locks.
        if each.lock.acquire(blocking=False):
            each.lock.release()
        else:
            each.lock = threading.RLock()


os.register_at_fork(after_in_child=_renew)
