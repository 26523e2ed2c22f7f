"""Runs the loop `i = inc(i)` in CPython and in CinderX's JIT, which calls the C function."""

import sys
import time

try:
    from cinderx.compiler.strict.loader import install
except ImportError as error:
    sys.exit(
        "CinderX cannot be imported (%s). It needs CPython 3.14 or 3.15; install it with "
        "pip install cinderx" % error
    )
install()  # from here on Static Python compiles modules that import __static__
import cinderx.jit

import counter
import loop


def boxed(count):
    i = 0
    while i < count:
        i = counter.inc(i)
    return i


def nanoseconds(run, count):
    """Returns the time of one iteration in nanoseconds."""
    assert run(10_000) == 10_000
    begin = time.perf_counter()
    assert run(count) == count
    return (time.perf_counter() - begin) / count * 1e9


cinderx.jit.force_compile(loop.run)
assert cinderx.jit.is_jit_compiled(loop.run)
print(
    "%.1f ns an iteration in CPython's loop, %.1f ns in CinderX's JIT"
    % (nanoseconds(boxed, 2_000_000), nanoseconds(loop.run, 20_000_000))
)
