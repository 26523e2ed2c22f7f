"""Work in a process of its own, so that a function that crashes or never returns takes only itself
along; and what it was doing then."""
from __future__ import annotations

import mmap
import multiprocessing
import signal
from typing import Any, Callable

from typedcall.cli import CommandError

__all__ = ["Marker", "isolated"]

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


def _send(work: Callable[[], Any], to: Any) -> None:
    try:
        to.send((True, work()))
    except BaseException as error:  # it is the parent who says so
        to.send((False, repr(error)))


def isolated(work: Callable[[], Any], seconds: float) -> tuple[Any, str | None]:
    """(what `work` returns, None), or (None, how its process ended instead).

    `work` runs in a copy of this process and must return what can be pickled."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send, args=(work, sender))
    child.start()
    sender.close()
    with receiver:
        if not receiver.poll(seconds):
            child.kill()
            child.join()
            return None, f"did not end within {seconds:g} s"
        try:
            succeeded, result = receiver.recv()
        except (EOFError, OSError):
            child.join()
            code = child.exitcode or 0
            if code >= 0:
                return None, f"ended its process with exit code {code}"
            return None, "died of " + signal.Signals(-code).name
    # Threads that the work has started may keep it from ending.
    child.join(1)
    child.kill()
    child.join()
    if not succeeded:
        raise CommandError(f"verify itself failed: {result}")
    return result, None
