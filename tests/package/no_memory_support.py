"""Sweeps that make memory allocation fail: each allocation of a call fails once on its own, and once with all later
ones. Run sweeps in separate processes, because CPython itself may crash."""
import ctypes
import re
import sys

import _testcapi

refuse, again = _testcapi.set_nomemory, _testcapi.remove_mem_hooks
# CPython 3.12 and 3.13 release a code object twice if there is no memory to make its function (or generator or lambda).
MAKES_FUNCTIONS = sys.version_info[:2] in ((3, 12), (3, 13))
# Before 3.11, each frame through which an exception passes while there is no memory uses up one of CPython's sixteen
# spare MemoryErrors, and a seventeenth ends the process.
ENDS_DEEP_CALLS = sys.version_info < (3, 11)


def is_forgotten(error):
    """True for the SystemError that CPython raises if its evaluation loop fails for lack of memory without setting an
    exception. The caller of a Python function may also get this error."""
    return isinstance(error, SystemError) and re.fullmatch(
        "error return without exception set|(<function .*>|_PyEval_EvalFrameDefault) returned NULL without "
        "setting an (error|exception)", str(error))


def sweep(call, undo=lambda result: None, errors=(), after=lambda: None, onwards=True, until=(),
          is_for_want=lambda error: False):
    """Makes a call again and again, and each time makes a later allocation fail. A call may return a result, which is
    passed to `undo`, or raise MemoryError or one of the `errors` that it raises anyway. `after` runs after each call.
    If `onwards` is false, only one allocation fails. An error in `until` ends the sweep. `is_for_want` is true for
    errors that a library raises in place of MemoryError. Import all modules beforehand, because an import may crash
    some versions of CPython when allocation fails. Returns the number of calls that failed."""
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
                # ctypes turns a MemoryError into an ArgumentError.
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
            # CPython itself raises this RuntimeError if it has no memory for a lock.
            assert error in (None, (RuntimeError, "can't allocate lock")), (call, first, error)
            done = first > failed + 30  # the last 30 calls did not fail
            if result is not None:
                undo(result)
            after()
            if done:
                break
            first += 1
            assert first < 3000, call
    return failures
