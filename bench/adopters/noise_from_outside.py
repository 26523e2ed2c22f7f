"""Tags functions of noise 1.2.2 from outside, and compares boxed calls with Numba, NumPy and PyPy.
Usage: python bench/adopters/noise_from_outside.py [--rounds N]"""

import os
import random
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import interleaved  # noqa: E402
import typedcall  # noqa: E402
from typedcall import Flags  # noqa: E402

try:
    import noise._simplex as simplex
except ImportError:
    sys.exit("SKIPPED: noise is not installed (pip install noise==1.2.2)")

# A user writes only these signatures. The C functions have the same names as the Python functions.
typedcall.tag_module(simplex, {"noise2": "ff->f", "noise3": "fff->f", "noise4": "ffff->f"},
                     flags=Flags.PURE | Flags.THREAD_SAFE)

COUNT = 200_000
IS_PYPY = sys.implementation.name == "pypy"


def agree(calls=20_000):
    """Checks that unboxed calls return the same results as boxed calls."""
    source = random.Random(1)
    for name, size in (("noise2", 2), ("noise3", 3), ("noise4", 4)):
        boxed = getattr(simplex, name)
        typed = typedcall.resolve(boxed, "f" * size + "->f")
        for _ in range(calls):
            values = [source.uniform(-1000, 1000) for _ in range(size)]
            if boxed(*values) != typed(*values):
                sys.exit("%s%r differs" % (name, tuple(values)))


def python_loop(function, count):
    total = 0.0
    for i in range(count):
        total += function(0.1 * i, 0.7)
    return total


def on_pypy(rounds):
    boxed = simplex.noise2
    typed = {"PyPy, boxed": boxed, "PyPy, accelerated": None}
    typedcall.accelerate(simplex)
    typed["PyPy, accelerated"] = simplex.noise2
    if typed["PyPy, accelerated"] is boxed:
        sys.exit("noise2 was not accelerated")
    contestants = {name: lambda function=function: python_loop(function, COUNT)
                   for name, function in typed.items()}
    taken = interleaved.measure(contestants, rounds)
    return interleaved.report(taken, COUNT, [("PyPy, boxed", "PyPy, accelerated", 15, "least")])


def on_cpython(rounds):
    import numba
    import numpy

    function = simplex.noise2
    x = 0.1 * numpy.arange(COUNT)
    typed, vectorized = typedcall.ufunc(function), numpy.vectorize(function)
    if not numpy.array_equal(typed(x, 0.7), vectorized(x, 0.7)):
        sys.exit("the ufunc disagrees with numpy.vectorize")

    @numba.njit
    def compiled(count):
        total = 0.0
        for i in range(count):
            total += function(0.1 * i, 0.7)
        return total

    if compiled(1000) != python_loop(function, 1000):
        sys.exit("Numba's loop disagrees with Python's")
    taken = interleaved.measure({
        "boxed, Python loop": lambda: python_loop(function, COUNT),
        "Numba, float64 arguments": lambda: compiled(COUNT),
        "numpy.vectorize": lambda: vectorized(x, 0.7),
        "ufunc, float64 arrays": lambda: typed(x, 0.7),
    }, rounds)
    return interleaved.report(taken, COUNT, [
        ("boxed, Python loop", "Numba, float64 arguments", 5, "least"),
        ("numpy.vectorize", "ufunc, float64 arrays", 5, "least"),
    ])


def main():
    rounds = interleaved.rounds(__doc__, 15)
    agree()
    return 0 if (on_pypy if IS_PYPY else on_cpython)(rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
