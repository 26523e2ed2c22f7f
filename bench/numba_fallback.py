"""Measures the cost of a possible fallback in a nopython loop. Usage: python
bench/numba_fallback.py [--rounds N]"""

import sys

import build_module
import interleaved
import numba
import typedcall

callees = build_module.load("adapter_callees.cc")

COUNT = 20_000_000
SHORT = 500_000


def loops(name):
    """Returns two loops that call the function `name`. In the first loop, each call waits for the
    previous one."""
    function = getattr(callees, name)

    @numba.njit
    def chain(count, x):
        for _ in range(count):
            x = function(x)
        return x

    @numba.njit
    def independent(count, x):
        total = 0.0
        for i in range(count):
            total += function(x + i)
        return total

    return chain, independent


checked, bare = loops("checked_part"), loops("bare_part")


def python_loop(count, x):
    for _ in range(count):
        x = callees.checked_part(x)
    return x


def main():
    rounds = interleaved.rounds(__doc__, 15)
    if [str(entry.flags) for entry in typedcall.entries(callees.checked_part)] == [
            str(entry.flags) for entry in typedcall.entries(callees.bare_part)]:
        raise SystemExit("both loops would call plain functions")
    if not bare[0](1000, 2.0) == checked[0](1000, 2.0) == python_loop(1000, 2.0):
        raise SystemExit("the loops disagree")
    try:
        checked[0](1, -1.0)
    except ValueError:
        pass
    else:
        raise SystemExit("the check is missing")
    contestants = {}
    for i, shape in enumerate(("in a chain", "independent")):
        contestants["falls back, " + shape] = lambda i=i: checked[i](COUNT, 2.0)
        contestants["bare, " + shape] = lambda i=i: bare[i](COUNT, 2.0)
    taken = interleaved.measure(contestants, rounds)
    slow = interleaved.measure({"CPython, boxed": lambda: python_loop(SHORT, 2.0)}, rounds)
    taken["CPython, boxed"] = [each * COUNT / SHORT for each in slow["CPython, boxed"]]
    comparisons = [
        ("falls back, independent", "bare, independent", 1.2, "most"),
        ("falls back, in a chain", "bare, in a chain", 1.2, "most"),
        ("CPython, boxed", "falls back, in a chain", 2.5, "least"),
    ]
    return 0 if interleaved.report(taken, COUNT, comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
