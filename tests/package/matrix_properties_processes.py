"""The matrix's properties whose cells run in separate processes."""
import importlib.util
import json
import pathlib
import sys
import sysconfig

import matrix_limits
import support

WORKER = pathlib.Path(__file__).resolve().with_name("matrix_worker.py")
#: Environment variables that make the allocators overwrite freed memory, including small blocks.
OVERWRITTEN = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # free-threaded builds need their own allocator
    OVERWRITTEN["PYTHONMALLOC"] = "malloc"
#: On free-threaded CPython 3.13, a daemon thread may end while it holds a lock, and the main thread then hangs.
ATTEMPTS, SECONDS = (4, 40) if sysconfig.get_config_var("Py_GIL_DISABLED") else (1, 120)


def ended(sink, name, cells, environment):
    """Runs the cells in a process, and returns how the process ended."""
    for attempt in range(ATTEMPTS):
        try:
            return support.python("-W", "ignore", "-X", "faulthandler", WORKER, sink.name, name, *cells,
                                  environment=environment, timeout=SECONDS)
        except support.processes.Hung as error:
            if attempt + 1 == ATTEMPTS:
                return support.processes.Ended(support.processes.Status(1), error.out, str(error))
            print("hung, and is run again", file=sys.stderr)


def of_process(sink, name, cells, environment=None, apart=False):
    """Runs the cells in one process. If a cell ends the process, the remaining cells run in a new one. With `apart`,
    each cell runs in its own process, which must end without output."""
    left = []
    for cell in cells:
        reason = matrix_limits.why_not(sink, name, cell)
        if reason:
            yield cell, "limit", reason
        else:
            left.append(cell)
    while left:
        asked = left[:1] if apart else left
        status, out, errors = ended(sink, name, asked, environment)
        reports = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
        said = f"{status!r}, {' / '.join((errors or out).splitlines()[-12:])}"
        if status == 0 and not (apart and errors) and len(reports) == len(asked):
            yield from reports
        elif len(reports) == len(asked):
            yield from reports[:-1]
            yield asked[-1], "wrong", "afterwards the process ends with " + said
        else:
            yield from reports
            yield asked[len(reports)], "wrong", "the process ends with " + said
            reports.append(None)
        left = left[len(reports):]


def lifetimes(sink):
    """A sink's callable keeps the function and its entry alive, and cycles that contain them are collected."""
    yield from of_process(sink, "lifetimes", ("the C function", "the callable", "a cycle"), OVERWRITTEN)
    # These cells count the blocks of CPython's own allocator.
    yield from of_process(sink, "lifetimes", ("making", "calling"))


def no_memory(sink):
    """If memory allocation fails, a call raises MemoryError or returns the result."""
    cells = "making", "calling", "raising", "falling back"
    if not importlib.util.find_spec("_testcapi"):
        for cell in cells:
            yield cell, "limit", "this interpreter has no _testcapi"
        return
    yield from of_process(sink, "no_memory", cells)


def endings(sink):
    """The interpreter ends without output while a sink's callable is held or is running."""
    yield from of_process(sink, "endings", ("a global", "an atexit handler", "a destructor", "a daemon thread"), apart=True)


def interpreters(sink):
    """A sink works in other interpreters, unless its library refuses to be imported there."""
    yield from of_process(sink, "interpreters", ("one GIL", "a GIL of its own"))
