"""The standard streams of a command. Only the report goes to stdout. All other output goes to stderr, even from C
code."""
from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

__all__ = ["open_closed", "report", "report_apart", "say"]

_reports: list[TextIO] = []
# The file descriptors of the report streams that this command has opened.
_own: list[int] = []


def report() -> TextIO:
    """Returns the stream for the command's report."""
    return _reports[-1] if _reports else sys.stdout


def open_closed() -> None:
    """Opens /dev/null for closed standard streams. Otherwise, the next open file would take their place."""
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
    """In a child process, redirects the report to /dev/null. The reader waits until all copies are closed, and a child
    may outlive the command."""
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
    """Reserves stdout for report(), and redirects other output to stderr. With `to_the_end`, this lasts until the
    process ends, because a module may print at exit."""
    stdout = sys.stdout
    if not _is_stdout(stdout):  # this stream belongs to the program that called main()
        with contextlib.redirect_stdout(sys.stderr):
            _reports.append(stdout)
            try:
                yield
            finally:
                _reports.pop()
        return
    stdout.flush()
    own = os.dup(1)
    # Characters that the terminal cannot show are escaped.
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
    """Flushes the stream and ignores errors, which would otherwise occur again at exit and change the exit status."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # a module may have closed the stream
            _discard(stream)


def _discard(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
    with contextlib.suppress(OSError, ValueError):
        stream.flush()


def say(text: str) -> None:
    """Writes to stderr if possible."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            _discard(sys.stderr)
