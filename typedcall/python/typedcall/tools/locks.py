"""All locks of the package's Python code. A fork copies a lock's state, and the thread that holds it is not in the
child, so locks that are held are replaced there."""
from __future__ import annotations

import os
import threading

__all__ = ["RenewedLock"]

_all: list[RenewedLock] = []


class RenewedLock:
    """A re-entrant lock, `with renewed.lock:`, for a module's own use: it is never freed."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _all.append(self)


def _renew() -> None:
    for each in _all:
        # The thread that forks continues in the child, with the locks that it holds itself.
        if each.lock.acquire(blocking=False):
            each.lock.release()
        else:
            each.lock = threading.RLock()


os.register_at_fork(after_in_child=_renew)
