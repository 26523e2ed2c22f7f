"""The standard streams of a command: stdout is for its report alone; anything else printed there, even
by C code, goes to stderr; streams that were closed at the start discard what is written."""
from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

__all__ = ["open_closed", "report", "report_apart", "say"]

_reports: list[TextIO] = []
# The descriptors of those that belong to this command.
_own: list[int] = []


def report() -> TextIO:
    """Returns the stream of the command's report."""
    return _reports[-1] if _reports else sys.stdout


def open_closed() -> None:
    """Opens the standard streams that are closed: otherwise the next file would take their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r"))


def _leave_to_parent() -> None:
    """Replaces the report's descriptor by /dev/null in a child: its reader waits until the last
    copy is closed, and a function's own processes may outlive the command."""
    null = os.open(os.devnull, os.O_WRONLY)
    for own in _own:
        os.dup2(null, own, inheritable=False)
    os.close(null)


os.register_at_fork(after_in_child=_leave_to_parent)


def _is_stdout(stream: Any) -> bool:
    try:
        return bool(stream.fileno() == 1)
    except (AttributeError, OSError, ValueError):
        return False


@contextlib.contextmanager
def report_apart(to_the_end: bool) -> Iterator[None]:
    """Reserves report() for the command, and redirects stdout to stderr; with `to_the_end` until
    the process ends, because a module may print even then."""
    stdout = sys.stdout
    if not _is_stdout(stdout):  # a stream of the program that called us
        with contextlib.redirect_stdout(sys.stderr):
            _reports.append(stdout)
            try:
                yield
            finally:
                _reports.pop()
        return
    stdout.flush()
    own = os.dup(1)
    # A character that the terminal's encoding lacks is shown by its number.
    _reports.append(open(own, "w", encoding=stdout.encoding, errors="backslashreplace"))
    _own.append(own)
    os.dup2(2, 1)
    try:
        yield
        _reports[-1].flush()
    finally:
        _flush(_reports[-1])
        _flush(stdout)
        if not to_the_end:
            sys.stdout = stdout
            os.dup2(own, 1)
            _own.pop()
            _reports.pop().close()


def _flush(stream: TextIO) -> None:
    """Flushes, and ignores errors: otherwise the error would recur at exit and decide the
    status."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # a module may have closed it
            _discard(stream)


def _discard(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
    with contextlib.suppress(OSError, ValueError):
        stream.flush()


def say(text: str) -> None:
    """Writes to stderr, if possible."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            _discard(sys.stderr)
