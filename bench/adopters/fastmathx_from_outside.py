"""Tags the functions of fastmathx 0.1.0 from outside, and compares boxed calls with Numba and
NumPy. Usage: python bench/adopters/fastmathx_from_outside.py [--rounds N]"""

import os
import random
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import interleaved  # noqa: E402
import typedcall  # noqa: E402
from typedcall import Flags  # noqa: E402

try:
    import fastmath.fastmath as fastmath
    import numba
    import numpy
except ImportError as missing:
    sys.exit("SKIPPED: %s is not installed (pip install fastmathx numba)" % missing.name)

# A user writes only the Python names and the C declarations.
DECLARATIONS = {
    "py_divide": "double divide(double a, double b)",
    "py_factorial": "uint64_t factorial(uint32_t n)",
    "py_combination": "uint64_t combination(uint32_t n, uint32_t k)",
    "py_permutation": "uint64_t permutation(uint32_t n, uint32_t k)",
    "py_gcd": "int32_t gcd(int32_t a, int32_t b)",
    "py_lcm": "int32_t lcm(int32_t a, int32_t b)",
    "py_abs_int": "int32_t abs_int(int32_t value)",
    "py_z_score": "double z_score(double value, double mean, double stddev)",
    "py_normal_pdf": "double normal_pdf(double x, double mu, double sigma)",
    "py_normal_cdf": "double normal_cdf(double x, double mu, double sigma)",
}
typedcall.tag_module(fastmath, DECLARATIONS, flags=Flags.PURE | Flags.THREAD_SAFE)

COUNT = 100_000


def values_of(codes, source):
    """Returns random arguments in descending order. These functions crash if k is greater than
    n."""
    values = [source.uniform(0.5, 9.0) if code == "d" else source.randint(1, 9) for code in codes]
    return sorted(values, reverse=True)


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except (OverflowError, TypeError) as error:
        return type(error), str(error)


def agree(calls=2000):
    """Checks that each C function returns the same as its Python function."""
    source = random.Random(1)
    for name in DECLARATIONS:
        boxed = getattr(fastmath, name)
        typed, = typedcall.signatures(boxed)
        compiled = numba.njit(eval("lambda *a: f(*a)", {"f": boxed}))
        ufunc = typedcall.ufunc(boxed)
        for number in range(calls):
            values = values_of(typed.partition("->")[0], source)
            if typed[0] == "i" and number == 0:
                values[0] = 1 << 40
            expected = outcome(boxed, *values)
            for way, function in (("Numba", compiled), ("the ufunc", ufunc)):
                if outcome(function, *values) != expected:
                    sys.exit("%s: %s%r differs from %r" % (way, name, tuple(values), expected))


def main():
    rounds = interleaved.rounds(__doc__, 15)
    agree()
    gcd, density = fastmath.py_gcd, fastmath.py_normal_pdf

    def integers(count):
        total = 0
        for i in range(1, count):
            total += gcd(12 * i, 18)
        return total

    def doubles(count):
        total = 0.0
        for i in range(1, count):
            total += density(0.01 * i, 0.0, 2.0)
        return total

    compiled_integers, compiled_doubles = numba.njit(integers), numba.njit(doubles)
    if compiled_integers(1000) != integers(1000) or compiled_doubles(1000) != doubles(1000):
        sys.exit("Numba's loop disagrees with Python's")
    whole, typed = 12 * numpy.arange(1, COUNT), typedcall.ufunc(gcd)
    vectorized = numpy.vectorize(gcd)
    if not numpy.array_equal(typed(whole, 18), vectorized(whole, 18)):
        sys.exit("the ufunc disagrees with numpy.vectorize")
    taken = interleaved.measure({
        "gcd, Python loop": lambda: integers(COUNT),
        "gcd, Numba, int64 arguments": lambda: compiled_integers(COUNT),
        "normal_pdf, Python loop": lambda: doubles(COUNT),
        "normal_pdf, Numba": lambda: compiled_doubles(COUNT),
        "gcd, numpy.vectorize": lambda: vectorized(whole, 18),
        "gcd, ufunc, int64 arrays": lambda: typed(whole, 18),
    }, rounds)
    # The divisions in gcd itself take 40 ns.
    return 0 if interleaved.report(taken, COUNT, [
        ("gcd, Python loop", "gcd, Numba, int64 arguments", 2, "least"),
        ("normal_pdf, Python loop", "normal_pdf, Numba", 5, "least"),
        ("gcd, numpy.vectorize", "gcd, ufunc, int64 arrays", 2, "least"),
    ]) else 1


if __name__ == "__main__":
    sys.exit(main())
