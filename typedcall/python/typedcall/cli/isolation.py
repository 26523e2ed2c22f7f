"""Runs work in a separate process. If a function crashes or hangs, only that process ends."""
from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import multiprocessing
import os
import signal
import struct
import time
from typing import Any, Callable

from typedcall.cli import CommandError
from typedcall.tools.foreign import type_name

__all__ = ["Marker", "isolated"]

_ROOM = 4096


class Marker:
    """Records what the work is doing. The record can be read even after the process has died."""

    _HEAD = struct.Struct("qq")

    def __init__(self, call: int = 0) -> None:
        self._memory = mmap.mmap(-1, _ROOM)
        self._steps = 0
        #: The timeout of a step, in seconds.
        self.limit = math.inf
        self.set(call, "first call")

    def set(self, call: int, text: str) -> None:
        self._steps += 1
        if self.limit < math.inf:
            signal.setitimer(signal.ITIMER_REAL, self.limit)
        encoded = text.encode(errors="replace")[: _ROOM - self._HEAD.size - 1]
        self._memory.seek(0)
        self._memory.write(self._HEAD.pack(self._steps, call) + encoded + b"\0")

    @property
    def steps(self) -> int:
        """The number of times that the marker was set."""
        return int(self._HEAD.unpack_from(self._memory)[0])

    def get(self) -> tuple[int, str]:
        text = self._memory[self._HEAD.size:].split(b"\0", 1)[0]
        return int(self._HEAD.unpack_from(self._memory)[1]), text.decode(errors="replace")


def _end_with(parent: int, seconds: float, marker: Marker) -> None:
    """Makes this process end when its parent ends, even by SIGKILL. A timer also ends it if a step takes too long."""
    with contextlib.suppress(AttributeError):  # prctl() exists only on Linux
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if seconds < 1e7:  # timers cannot be set to longer times
        marker.limit = 1.5 * seconds + 5
        marker.set(*marker.get())


def _send(work: Callable[[], Any], to: Any, parent: int, seconds: float, marker: Marker) -> None:
    _end_with(parent, seconds, marker)
    try:
        to.send((True, work(), ""))
    except Exception as error:  # the parent reports this error
        to.send((False, None, repr(error)))
    except BaseException as error:  # raised by the function, or by repr() of its result
        to.send((True, None, f"raised {type_name(error)}"))


def _wait(
    child: Any, receiver: Any, seconds: float, marker: Marker, tick: Callable[[int], None]
) -> bool:
    """Waits until the child has sent its result or has ended. Calls `tick` with the number of the current call.
    Returns False if a step takes longer than `seconds`."""
    steps, since = marker.steps, time.monotonic()
    # Waiting for the end of the pipe is not enough, because the child's own children may keep it open.
    while not receiver.poll(min(seconds, 0.2)) and child.is_alive():
        tick(marker.get()[0])
        if marker.steps != steps:
            steps, since = marker.steps, time.monotonic()
        elif time.monotonic() - since >= seconds:
            return False
    return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no names
        return f"signal {number}"


def isolated(
    work: Callable[[], Any], seconds: float, marker: Marker, tick: Callable[[int], None]
) -> tuple[Any, str | None]:
    """Returns (result of `work`, None), or (None, description of how its process ended instead).

    `work` runs in a copy of this process. Its result must be picklable. `work` sets the marker at each step. A step
    may take at most `seconds`."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send, args=(work, sender, os.getpid(), seconds, marker))
    child.start()
    sender.close()
    try:
        with receiver:
            if not _wait(child, receiver, seconds, marker, tick):
                return None, f"did not end within {seconds:g} s"
            try:
                if not receiver.poll():
                    raise EOFError
                succeeded, result, fault = receiver.recv()
            except (EOFError, OSError):
                child.join()
                code = child.exitcode or 0
                if code >= 0:
                    return None, f"ended its process with exit code {code}"
                if code == -signal.SIGALRM:  # its own timer ended it while the parent was stopped
                    return None, f"did not end within {seconds:g} s"
                return None, "died of " + _signal_name(-code)
        child.join(1)
    finally:
        # Threads may keep the child alive after its result, and a C function after an interrupt of this process.
        child.kill()
        child.join()
    if not succeeded:
        raise CommandError(f"verify itself failed: {fault}")
    return result, fault or None
