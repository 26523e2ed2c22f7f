"""Runs a command or this interpreter in a separate process. An unexpected end raises AssertionError with the complete
output and the signal that ended it."""
import os
import signal
import subprocess
import sys
import textwrap
import typing

# The test's own sanitizer must not affect compilers, nor programs that load their output.
UNSANITIZED = {"LD_PRELOAD": None}
# Seconds; a process that takes longer has hung.
TIME_LIMIT = 600


class Status(int):
    """An exit status whose repr shows the name of a signal."""

    def __repr__(self):
        if self >= 0:
            return "%d" % self
        try:
            return "%d (%s)" % (self, signal.Signals(-self).name)
        except ValueError:  # a real-time signal
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
        stderr=None, cwd=None):
    """Runs `command`, whose parts are converted by str(), and returns its status, output and errors.

    `check`: a nonzero status is a failure. `together`: errors are in `out`, in order of appearance; `stderr` is a file
    for them instead. `paths` replaces the test's own PYTHONPATH; `environment` has variables in addition to the
    test's; None removes one."""
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
    """Starts `command` like run(), and returns it while it runs; a cleanup ends it."""
    running = subprocess.Popen([str(part) for part in command], stdout=stdout, cwd=cwd,
                               env=_environment(environment, paths))
    if stdout is not None:
        add_cleanup(running.stdout.close)
    add_cleanup(running.wait)
    add_cleanup(running.kill)
    return running


def python(*arguments, code=None, **options):
    """Calls run() for this interpreter, with these arguments or the code, which may be indented."""
    if code is not None:
        arguments = (*arguments, "-c", textwrap.dedent(code))
    return run([sys.executable, *arguments], **options)
