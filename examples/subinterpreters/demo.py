"""Runs one extension module in several interpreters of one process. Typed calls work in each, and a
tag belongs to the interpreter that set it."""

import ctypes
import ctypes.util
import math
import sys
import threading

import typedcall

import area

try:
    import _interpreters as interpreters  # CPython's private module from 3.13 on
except ImportError:
    import _xxsubinterpreters as interpreters  # its name before 3.13

libm = ctypes.CDLL(ctypes.util.find_library("m"))


def run(source):
    """Runs `source` in a new interpreter, and ends it."""
    source = "import sys; sys.path[:] = %r\nimport math, typedcall, area\n" % sys.path + source
    made = interpreters.create()
    try:
        failed = interpreters.run_string(made, source)
        if failed is not None:  # CPython 3.13 returns the exception
            raise RuntimeError(failed.formatted)
    finally:
        interpreters.destroy(made)


# With this tag, the consumer calls libm's erf.
typedcall.tag(math.erf, "d->d", libm.erf)
assert abs(area.under(math.erf, 0.0, 1.0) - 0.486065) < 1e-6
print("here:  erf offers", typedcall.signatures(math.erf), flush=True)

# In another interpreter, math.erf is not tagged.
run(
    """
assert abs(area.under(area.bowl, 0.0, 3.0) - 9) < 1e-6 and area.calls() == 1
assert typedcall.resolve(area.bowl, "d->d")(3.0) == 9.0
try:
    area.under(math.erf, 0.0, 1.0)
except TypeError as error:
    print("there:", error)
typedcall.tag(math.erfc, "d->d", %d)
print("there: erfc offers", typedcall.signatures(math.erfc), flush=True)
"""
    % ctypes.cast(libm.erfc, ctypes.c_void_p).value
)

# The other interpreter's tag is not visible here, and this interpreter's tag still exists.
print("here:  erf offers", typedcall.signatures(math.erf), end=", ")
print("erfc offers", typedcall.signatures(math.erfc), flush=True)
assert area.calls() == 1

# Run several interpreters at once, one per thread.
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    gil = "this Python has no GIL"
else:
    gil = "each with its own GIL" if sys.version_info >= (3, 12) else "which share the GIL"
WORK = """
for _ in range(%d):
    assert abs(area.under(area.bowl, 0.0, 3.0) - 9) < 1e-6
print("interpreter %d: %%d areas\\n" %% area.calls(), end="", flush=True)  # all of it at once
"""
failures = []


def work(number):
    try:
        run(WORK % (100 * number, number))
    except BaseException as error:
        failures.append(error)


threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
assert area.calls() == 1
print("three at once,", gil)
