"""Tags the functions of pyerfa 2.0 from outside, and compares boxed calls with Numba, SciPy's quad
and NumPy. Usage: python bench/adopters/pyerfa_from_outside.py"""

import os
import random
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import interleaved  # noqa: E402
import typedcall  # noqa: E402
from typedcall import Flags  # noqa: E402

try:
    import numba
    import numpy
    from erfa import ufunc as erfa
    from scipy.integrate import quad
except ImportError as missing:
    sys.exit("SKIPPED: %s is not installed (pip install pyerfa numba scipy)" % missing.name)

# The wheel exports the C functions, and the ufuncs tell the number of arguments.
numbers = {name: function for name, function in vars(erfa).items()
           if isinstance(function, numpy.ufunc) and function.nout == 1 and function.signature is None
           and [kinds.strip("d") for kinds in function.types] == ["->"]}
tagged = typedcall.tag_module(
    erfa, {name: "double era%s(%s)" % (name.capitalize(), ",".join(["double"] * function.nin))
           for name, function in numbers.items()},
    flags=Flags.PURE | Flags.THREAD_SAFE)

COUNT = 100_000
JD = 2451545.0


def agree(calls=2000):
    """Checks that each function returns the same as its ufunc."""
    source = random.Random(1)
    for name in tagged:
        boxed = numbers[name]
        typed = typedcall.resolve(boxed, "d" * boxed.nin + "->d")
        for _ in range(calls):
            values = [source.choice((JD, 0.0, 1.0)) + source.uniform(-3, 3) for _ in range(boxed.nin)]
            expected, given = float(boxed(*values)), typed(*values)
            if expected != given and not (expected != expected and given != given):
                sys.exit("%s%r differs" % (name, tuple(values)))


def python_loop(function, count):
    total = 0.0
    for i in range(count):
        total += function(0.1 * i)
    return total


def main():
    rounds = interleaved.rounds(__doc__, 15)
    agree()
    print("%d functions agree with their ufuncs" % len(tagged))
    anp, gmst = erfa.anp, erfa.gmst82

    @numba.njit
    def angles(count):
        total = 0.0
        for i in range(count):
            total += anp(0.1 * i)
        return total

    @numba.njit
    def sidereal(count):
        total = 0.0
        for i in range(count):
            total += gmst(JD, 0.1 * i)
        return total

    def sidereal_boxed(count):
        total = 0.0
        for i in range(count):
            total += gmst(JD, 0.1 * i)
        return total

    x = 0.1 * numpy.arange(COUNT)
    typed, compiled = typedcall.ufunc(anp), typedcall.low_level_callable(anp)
    if angles(1000) != python_loop(anp, 1000) or sidereal(1000) != sidereal_boxed(1000):
        sys.exit("Numba's loop disagrees with Python's")
    # anp is discontinuous at 2 pi, so quad needs many calls.
    value, error, found = quad(anp, 0, 6.5, limit=200, full_output=True)
    integrals = range(-(-COUNT // found["neval"]))
    if not numpy.array_equal(typed(x), anp(x)) or quad(compiled, 0, 6.5, limit=200) != (value, error):
        sys.exit("an adapter disagrees with the ufunc")
    taken = interleaved.measure({
        "anp, Python loop": lambda: python_loop(anp, COUNT),
        "anp, Numba": lambda: angles(COUNT),
        "gmst82, Python loop": lambda: sidereal_boxed(COUNT),
        "gmst82, Numba": lambda: sidereal(COUNT),
        "anp, pyerfa's ufunc": lambda: anp(x),
        "anp, typedcall's ufunc": lambda: typed(x),
        "anp, numpy.vectorize": lambda: numpy.vectorize(anp)(x),
        "anp, quad": lambda: [quad(anp, 0, 6.5, limit=200) for _ in integrals],
        "anp, quad, tagged": lambda: [quad(compiled, 0, 6.5, limit=200) for _ in integrals],
    }, rounds)
    return 0 if interleaved.report(taken, COUNT, [
        ("anp, Python loop", "anp, Numba", 5, "least"),
        ("gmst82, Python loop", "gmst82, Numba", 5, "least"),
        ("anp, numpy.vectorize", "anp, typedcall's ufunc", 5, "least"),
        ("anp, quad", "anp, quad, tagged", 5, "least"),
    ]) else 1


if __name__ == "__main__":
    sys.exit(main())
