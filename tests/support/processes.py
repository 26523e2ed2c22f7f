"""One way to run a command or this interpreter in a process of its own. What ends as it should not is an
AssertionError with all that it printed, and says which signal ended it."""
import os
import signal
import subprocess
import sys
import textwrap
import typing

# A sanitizer that the test runs under is not for compilers, nor for what loads what they made.
UNSANITIZED = {"LD_PRELOAD": None}
# Seconds: what takes longer hangs.
TIME_LIMIT = 600


class Status(int):
    """An exit status, which shows the name of a signal."""

    def __repr__(self):
        if self >= 0:
            return "%d" % self
        try:
            return "%d (%s)" % (self, signal.Signals(-self).name)
        except ValueError:  # a real-time one
            return "%d (signal %d)" % (self, -self)

    __str__ = __repr__


class Ended(typing.NamedTuple):
    status: Status
    out: str
    err: str  # empty if both were printed together


class Hung(AssertionError):
    """The time limit was reached; `out` is what had been printed."""

    def __init__(self, text, out):
        super().__init__(text)
        self.out = out


def _text(printed):
    return (printed or b"").decode(errors="replace")


def _environment(changes, paths):
    changes = dict(changes or {})
    if paths:
        changes["PYTHONPATH"] = os.pathsep.join(str(path) for path in paths)
    return {name: value for name, value in dict(os.environ, **changes).items() if value is not None}


def run(command, *, check=True, together=False, paths=(), environment=None, timeout=TIME_LIMIT, input="",
        cwd=None):
    """Status, output and errors of `command`, whose parts may be anything that str() makes one of.

    `check`: a status that is not 0 is a failure. `together`: errors are in `out`, where they came.
    `paths` are PYTHONPATH, in place of the test's own; `environment` are variables besides the test's, or
    None to take one away."""
    command = [str(part) for part in command]
    try:
        ended = subprocess.run(
            command, input=input.encode(), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE, check=False, timeout=timeout,
            env=_environment(environment, paths), cwd=cwd)
    except subprocess.TimeoutExpired as error:
        out = _text(error.stdout) + _text(error.stderr)
        raise Hung("%s has not ended after %d s:\n%s" % (command, timeout, out), out) from None
    result = Ended(Status(ended.returncode), _text(ended.stdout), _text(ended.stderr))
    if check and result.status != 0:
        raise AssertionError("%s ended with %s:\n%s%s" % (command, result.status, result.out, result.err))
    return result


def python(*arguments, code=None, **options):
    """run() of this interpreter, with these arguments or the code, which may be indented."""
    if code is not None:
        arguments = (*arguments, "-c", textwrap.dedent(code))
    return run([sys.executable, *arguments], **options)
