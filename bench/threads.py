"""Compares calls by two threads with calls by one thread on a free-threaded CPython. Usage: python3.13t
bench/threads.py [--rounds N]"""

import math
import sys
import threading
import time
from itertools import repeat

import build_module
import interleaved
import numpy
import typedcall

callees = build_module.load("threads_callees.cc")
CALLS = 200_000
LENGTH = 1000


def called(f, *arguments, every=1):
    """Returns a function that takes the number of calls and makes them. Each call counts as `every` calls."""

    def loop(calls):
        # Each thread needs its own cells and floats. Shared ones would make the threads wait for each other.
        function = f
        own = tuple(each * 1.0 if isinstance(each, float) else each for each in arguments)
        for _ in repeat(None, calls // every):
            function(*own)

    return loop


def of_its_own(f):
    """Returns a loop of calls to a TypedFunction that only this thread uses. CPython 3.13 counts the references of a
    shared one in each iteration, as of a Python function."""
    return lambda calls: called(typedcall.resolve(f, "d->d"), 1.5)(calls)


def over_array(f):
    """Returns a loop of calls with its own arrays."""

    def loop(calls):
        x = numpy.linspace(0, 1, LENGTH)
        out = numpy.empty_like(x)
        called(f, x, out, every=50)(calls)

    return loop


def seconds(loop, count):
    """Returns how long `count` threads take to make their calls."""
    barrier = threading.Barrier(count + 1)

    def run():
        barrier.wait()
        loop(CALLS)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def main():
    rounds = interleaved.rounds(__doc__, 31)
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        sys.exit("this Python has a GIL, or one of the modules has brought it back")
    contestants = {
        "Python function": called(lambda x: x, 1.5),
        "math.sqrt": called(math.sqrt, 1.5),
        "wrapper": called(callees.absolute, 1.5),
        "TypedFunction": called(typedcall.resolve(callees.absolute, "d->d"), 1.5),
        "its own": of_its_own(callees.absolute),
        "its own, may fall back": of_its_own(callees.root),
        "call_site": lambda calls: callees.by_call_site(callees.absolute, calls),
        "resolve()": called(typedcall.resolve, callees.absolute, "d->d", every=50),
        "numpy.sqrt": over_array(numpy.sqrt),
        "ufunc": over_array(typedcall.ufunc(callees.absolute)),
    }
    taken = {"one thread": [1.0] * rounds, **{name: [] for name in contestants}}
    for _ in range(rounds):
        for name, loop in contestants.items():
            taken[name].append(2 * seconds(loop, 1) / seconds(loop, 2))
    interleaved.keep("", "times", taken)
    for name in contestants:
        print("%-22s %.2f times (quartiles %.2f to %.2f)" % (name, *interleaved.ratio(taken, name, "one thread")))


if __name__ == "__main__":
    main()
