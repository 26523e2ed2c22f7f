"""Work in a process of its own, so that a function that crashes or never returns takes only itself
along; and what it was doing then."""
from __future__ import annotations

import mmap
import multiprocessing
import signal
import struct
import time
from typing import Any, Callable

from typedcall.cli import CommandError

__all__ = ["Marker", "isolated"]

_ROOM = 4096


class Marker:
    """What the work does at the moment, readable after its process has died: the number of a call,
    and what of it."""

    _HEAD = struct.Struct("qq")

    def __init__(self, call: int = 0) -> None:
        self._memory = mmap.mmap(-1, _ROOM)
        self._steps = 0
        self.set(call, "first call")

    def set(self, call: int, text: str) -> None:
        self._steps += 1
        encoded = text.encode(errors="replace")[: _ROOM - self._HEAD.size - 1]
        self._memory.seek(0)
        self._memory.write(self._HEAD.pack(self._steps, call) + encoded + b"\0")

    @property
    def steps(self) -> int:
        """How often it was set."""
        return int(self._HEAD.unpack_from(self._memory)[0])

    def get(self) -> tuple[int, str]:
        text = self._memory[self._HEAD.size:].split(b"\0", 1)[0]
        return int(self._HEAD.unpack_from(self._memory)[1]), text.decode(errors="replace")


def _send(work: Callable[[], Any], to: Any) -> None:
    try:
        to.send((True, work()))
    except BaseException as error:  # it is the parent who says so
        to.send((False, repr(error)))


def _wait(receiver: Any, seconds: float, marker: Marker, tick: Callable[[int], None]) -> bool:
    """For the end, telling of the calls; False when one takes longer than that."""
    steps, since = marker.steps, time.monotonic()
    while not receiver.poll(min(seconds, 0.2)):
        tick(marker.get()[0])
        if marker.steps != steps:
            steps, since = marker.steps, time.monotonic()
        elif time.monotonic() - since >= seconds:
            return False
    return True


def isolated(
    work: Callable[[], Any], seconds: float, marker: Marker, tick: Callable[[int], None]
) -> tuple[Any, str | None]:
    """(what `work` returns, None), or (None, how its process ended instead).

    `work` runs in a copy of this process and must return what can be pickled. It sets the marker:
    what is one step of it may take `seconds`."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send, args=(work, sender))
    child.start()
    sender.close()
    with receiver:
        if not _wait(receiver, seconds, marker, tick):
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
