"""Work in a process of its own, so that a function that crashes or never returns takes only itself
along; and what it was doing then."""
from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import time
from typing import Any, Callable, Optional, Tuple

from typedcall.cli import CommandError

__all__ = ["CAN_ISOLATE", "Marker", "isolated"]

CAN_ISOLATE = hasattr(os, "fork")

_ROOM = 4096


class Marker:
    """What the work does at the moment, readable after its process has died."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _ROOM)

    def set(self, text: str) -> None:
        encoded = text.encode(errors="replace")[: _ROOM - 1]
        self._memory.seek(0)
        self._memory.write(encoded + b"\0")

    def get(self) -> str:
        self._memory.seek(0)
        return self._memory.read(_ROOM).split(b"\0", 1)[0].decode(errors="replace")


def _child(work: Callable[[], Any], write_to: int) -> None:
    """Never returns: nothing of the parent's may run on in the copy."""
    try:
        with os.fdopen(write_to, "wb") as pipe:
            try:
                pickle.dump((True, work()), pipe)
            except BaseException as error:  # it is the parent who says so
                pickle.dump((False, repr(error)), pipe)
    finally:
        os._exit(0)


def _read(read_from: int, seconds: float) -> Tuple[bytes, bool]:
    """All that comes, and whether the end came in time."""
    end = time.monotonic() + seconds
    received = b""
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([read_from], [], [], left)[0]:
            return received, False
        part = os.read(read_from, 1 << 16)
        if not part:
            return received, True
        received += part


def isolated(work: Callable[[], Any], seconds: float) -> Tuple[Any, Optional[str]]:
    """(what `work` returns, None), or (None, how its process ended instead).

    `work` runs in a copy of this process and must return what can be pickled."""
    read_from, write_to = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_from)
        _child(work, write_to)
    os.close(write_to)
    try:
        received, ended = _read(read_from, seconds)
    finally:
        os.close(read_from)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ended:
        return None, "did not end within %g s" % seconds
    if os.WIFSIGNALED(status):
        return None, "died of " + signal.Signals(os.WTERMSIG(status)).name
    succeeded, result = pickle.loads(received)
    if not succeeded:
        raise CommandError("verify itself failed: %s" % result)
    return result, None
