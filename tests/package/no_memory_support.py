"""Sweeps for tests without memory: each allocation of a call fails once, alone and with all later ones. Run them in
separate processes, because CPython itself may not survive."""
import ctypes
import re
import sys

import _testcapi

refuse, again = _testcapi.set_nomemory, _testcapi.remove_mem_hooks
# CPython 3.12 and 3.13 release a code object twice if there is no memory for its function (generators, lambdas).
MAKES_FUNCTIONS = sys.version_info[:2] in ((3, 12), (3, 13))
# Before 3.11, each frame that an exception leaves without memory takes one of CPython's sixteen spare MemoryErrors, and
# the seventeenth ends the process.
ENDS_DEEP_CALLS = sys.version_info < (3, 11)


def is_forgotten(error):
    """True if CPython's own loop has failed to report that there was no memory. The caller of a Python function sees
    that, too."""
    return isinstance(error, SystemError) and re.fullmatch(
        "error return without exception set|(<function .*>|_PyEval_EvalFrameDefault) returned NULL without "
        "setting an (error|exception)", str(error))


def sweep(call, undo=lambda result: None, errors=(), after=lambda: None, onwards=True, until=(),
          is_for_want=lambda error: False):
    """Makes a call again and again, with less and less memory. A call ends with its result, which `undo` gets, with
    MemoryError, or with one of the `errors` that it raises anyway; `after` runs after each. Without `onwards` only one
    allocation fails; an error of `until` ends the sweep. `is_for_want` is true for errors that a library raises in
    place of MemoryError. Import modules before: the interpreter's own import does not survive this everywhere. Returns
    the number of calls without memory."""
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
            # The last one is CPython's own message for it.
            assert error in (None, (RuntimeError, "can't allocate lock")), (call, first, error)
            done = first > failed + 30  # calls that need no memory or cope without
            if result is not None:
                undo(result)
            after()
            if done:
                break
            first += 1
            assert first < 3000, call
    return failures
