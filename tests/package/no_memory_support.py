"""Makes memory allocation fail. Must run in a separate process, because CPython itself may crash."""
import ctypes
import re
import sys

import _testcapi

refuse, again = _testcapi.set_nomemory, _testcapi.remove_mem_hooks
# CPython 3.12 and 3.13 release a code object twice if there is no memory for its function.
MAKES_FUNCTIONS = sys.version_info[:2] in ((3, 12), (3, 13))
# Before 3.11, CPython has only sixteen spare MemoryErrors. Without memory, each frame that an exception passes uses one
# of them. CPython ends the process if none is left.
ENDS_DEEP_CALLS = sys.version_info < (3, 11)


def is_forgotten(error):
    """Returns true for the SystemError that CPython raises if its evaluation loop runs out of memory and sets no
    exception."""
    return isinstance(error, SystemError) and re.fullmatch(
        "error return without exception set|(<function .*>|_PyEval_EvalFrameDefault) returned NULL without "
        "setting an (error|exception)", str(error))


def sweep(call, undo=lambda result: None, errors=(), after=lambda: None, onwards=True, until=(),
          is_for_want=lambda error: False):
    """Makes a call again and again, and each time a later allocation fails. A call must return a
    result, which is passed to `undo`, or raise MemoryError or one of the `errors`. `after` runs
    after each call. Unless `onwards` is false, the sweep is repeated with all later allocations
    failing too. An error in `until` ends the sweep. `is_for_want` is true for errors that a library
    raises instead of MemoryError when memory runs out. Import all modules before the sweep, because
    an import without memory crashes some versions of CPython. Returns the number of calls that
    failed."""
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
                # ctypes raises ArgumentError instead of MemoryError.
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
            # CPython raises this RuntimeError if it has no memory for a lock.
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
