"""Runs a command or this interpreter in a separate process."""
import os
import signal
import subprocess
import sys
import textwrap
import typing

# Compilers and other programs must not load the sanitizer of the test.
UNSANITIZED = {"LD_PRELOAD": None}
# The time limit in seconds.
TIME_LIMIT = 600


class Status(int):
    """An exit status. Its repr shows the name of the signal, if any."""

    def __repr__(self):
        if self >= 0:
            return "%d" % self
        try:
            return "%d (%s)" % (self, signal.Signals(-self).name)
        except ValueError:  # real-time signals have no name
            return "%d (signal %d)" % (self, -self)

    __str__ = __repr__


class Ended(typing.NamedTuple):
    status: Status
    out: str
    err: str  # empty if errors are in `out`


class Hung(AssertionError):
    """Raised when the time limit is reached. `out` is the output so far."""

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
        stderr=None, cwd=None):
    """Runs `command` and returns its status, output and errors.

    With `check`, a nonzero status raises AssertionError. With `together`, errors are in `out`. With
    `stderr`, they go to that file. `paths` replaces PYTHONPATH. `environment` sets variables; the
    value None removes one."""
    command = [str(part) for part in command]
    try:
        ended = subprocess.run(
            command, input=input.encode(), stdout=subprocess.PIPE,
            stderr=stderr or (subprocess.STDOUT if together else subprocess.PIPE), check=False, timeout=timeout,
            env=_environment(environment, paths), cwd=cwd)
    except subprocess.TimeoutExpired as error:
        out = _text(error.stdout) + _text(error.stderr)
        raise Hung("%s has not ended after %d s:\n%s" % (command, timeout, out), out) from None
    result = Ended(Status(ended.returncode), _text(ended.stdout), _text(ended.stderr))
    if check and result.status != 0:
        raise AssertionError("%s ended with %s:\n%s%s" % (command, result.status, result.out, result.err))
    return result


def start(add_cleanup, command, *, paths=(), environment=None, stdout=None, cwd=None):
    """Starts `command` like run(). Returns the running process, which a cleanup ends."""
    running = subprocess.Popen([str(part) for part in command], stdout=stdout, cwd=cwd,
                               env=_environment(environment, paths))
    if stdout is not None:
        add_cleanup(running.stdout.close)
    add_cleanup(running.wait)
    add_cleanup(running.kill)
    return running


def python(*arguments, code=None, **options):
    """Runs this interpreter with these arguments or this code, which may be indented."""
    if code is not None:
        arguments = (*arguments, "-c", textwrap.dedent(code))
    return run([sys.executable, *arguments], **options)
