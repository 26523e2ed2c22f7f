"""Compares a nopython loop over a tagged function with a loop over its ctypes function, and with
the CPython loop. Usage: python bench/numba_loop.py [--rounds N]"""

import ctypes
import sys

import build_module
import interleaved
import numba
import typedcall

callees = build_module.load("adapter_callees.cc")
library = ctypes.CDLL(callees.__file__)
by_ctypes = library.bench_step
by_ctypes.argtypes, by_ctypes.restype = [ctypes.c_double], ctypes.c_double

COUNT = 20_000_000
SHORT = 500_000


@numba.njit
def tagged_loop(count, x):
    for _ in range(count):
        x = callees.step(x)
    return x


@numba.njit
def ctypes_loop(count, x):
    for _ in range(count):
        x = by_ctypes(x)
    return x


@numba.njit
def own_step(x):
    return x * 0.999 + 0.001


@numba.njit
def own_loop(count, x):
    for _ in range(count):
        x = own_step(x)
    return x


def python_loop(count, x):
    for _ in range(count):
        x = callees.step(x)
    return x


def main():
    rounds = interleaved.rounds(__doc__, 15)
    address = typedcall.entries(callees.step)[0].address
    if ctypes.cast(by_ctypes, ctypes.c_void_p).value != address:
        raise SystemExit("the two loops would call different functions")
    if not tagged_loop(1000, 2.0) == ctypes_loop(1000, 2.0) == python_loop(1000, 2.0):
        raise SystemExit("the loops disagree")
    taken = interleaved.measure(
        {
            "Numba, tagged": lambda: tagged_loop(COUNT, 2.0),
            "Numba, ctypes": lambda: ctypes_loop(COUNT, 2.0),
            # The compiler inlines this function.
            "Numba, its own function": lambda: own_loop(COUNT, 2.0),
        },
        rounds,
    )
    slow = interleaved.measure({"CPython": lambda: python_loop(SHORT, 2.0)}, rounds)
    taken["CPython"] = [each * COUNT / SHORT for each in slow["CPython"]]
    comparisons = [
        ("Numba, tagged", "Numba, ctypes", 1.15, "most"),
        ("CPython", "Numba, tagged", 10, "least"),
    ]
    return 0 if interleaved.report(taken, COUNT, comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
