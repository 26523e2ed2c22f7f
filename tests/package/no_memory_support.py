"""Sweeps for tests without memory: each allocation of a call fails once, alone and with all that follow. They belong in
processes of their own, since CPython itself may not survive it."""
import ctypes
import re
import sys

import _testcapi

refuse, again = _testcapi.set_nomemory, _testcapi.remove_mem_hooks
# CPython 3.12 and 3.13 let go of a function's code twice when there is no memory to make one (generators, lambdas).
MAKES_FUNCTIONS = sys.version_info[:2] in ((3, 12), (3, 13))


def is_forgotten(error):
    """True if CPython's own loop has forgotten to say that there was no memory. The caller of a Python function sees
    that, too."""
    return isinstance(error, SystemError) and re.fullmatch(
        "error return without exception set|(<function .*>|_PyEval_EvalFrameDefault) returned NULL without "
        "setting an exception", str(error))


def sweep(call, undo=lambda result: None, errors=(), after=lambda: None, onwards=True, until=(),
          is_for_want=lambda error: False):
    """Calls again and again, with less and less memory. A call ends with its result, which `undo` gets, with
    MemoryError, or with one of the `errors` that it has anyway; `after` runs behind each. Without `onwards` only one
    allocation fails; an error of `until` ends the sweep. `is_for_want` is true for errors that a library has in place of
    MemoryError. Import modules before: the interpreter's own import does not survive it everywhere. Returns the number
    of calls without memory."""
    failures = 0
    try:
        undo(call())
    except errors:
        pass
    for stop in (lambda first: first + 1, lambda first: 0)[:1 + onwards]:
        first = failed = 0
        while True:
            result = error = None
            refuse(first, stop(first))
            try:
                try:
                    result = call()
                finally:
                    again()
            except MemoryError:
                failed, failures = first, failures + 1
            except ctypes.ArgumentError as says:
                # ctypes' own way.
                if "MemoryError" not in str(says):
                    raise
                failed, failures = first, failures + 1
            except BaseException as raised:
                if isinstance(raised, SystemError) and not is_forgotten(raised):
                    raise
                if is_forgotten(raised) or is_for_want(raised):
                    failed, failures = first, failures + 1
                elif isinstance(raised, until):
                    break
                elif not isinstance(raised, errors):
                    error = type(raised), str(raised)
            # The last one is CPython's way to say it.
            assert error in (None, (RuntimeError, "can't allocate lock")), (call, first, error)
            done = first > failed + 30  # calls that need no memory, or can do without
            if result is not None:
                undo(result)
            after()
            if done:
                break
            first += 1
            assert first < 3000, call
    return failures
