"""Builds noise 1.2.2 with a patch that tags all functions, and compares boxed calls with Numba,
NumPy and PyPy. Usage: python bench/adopters/noise_by_patch.py [--rounds N]"""

import os
import random
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import interleaved  # noqa: E402
import patched  # noqa: E402
import typedcall  # noqa: E402

COUNT = 50_000
IS_PYPY = sys.implementation.name == "pypy"
#: Each row contains a function's name, the number of coordinates, the keywords to pass, and all
#: defaults.
LARGEST = 3.4028234663852886e+38
FUNCTIONS = [
    ("pnoise1", 1, "octaves=2, repeat=64", (1, 0.5, 2.0, 1024, 0)),
    ("pnoise2", 2, "octaves=2, repeatx=64.0, base=1", (1, 0.5, 2.0, 1024.0, 1024.0, 0)),
    ("pnoise3", 3, "octaves=2, persistence=0.25", (1, 0.5, 2.0, 1024, 1024, 1024, 0)),
    ("snoise2", 2, "octaves=2, base=0.5", (1, 0.5, 2.0, LARGEST, LARGEST, 0.0)),
    ("snoise3", 3, "octaves=2, lacunarity=3.0", (1, 0.5, 2.0)),
    ("snoise4", 4, "octaves=2, persistence=0.25", (1, 0.5, 2.0)),
]
CALL = """
def call(f):
    def one(x, y, z, w):
        return f({any}{more})
    def loop(count):
        total = 0.0
        for i in range(count):
            total += f({this}{more})
        return total
    return one, loop
"""


def calls(name, coordinates, more):
    """Returns a function that takes f. It returns two functions that Numba can compile: one call to
    f, and a loop of calls."""
    scope = {}
    exec(CALL.format(any=", ".join("xyzw"[:coordinates]), more=more and ", " + more,
                     this=", ".join(["0.1 * i", "0.7", "0.3", "0.9"][:coordinates])), scope)
    return scope["call"]


def agree(boxed, typed, name, calls=2000):
    source = random.Random(1)
    for _ in range(calls):
        values = [source.uniform(-100, 100) for _ in range(4)]
        if boxed(*values) != typed(*values):
            sys.exit("%s%r differs" % (name, tuple(values)))


def measured(noise, make_typed, way, goal, rounds):
    """Measures every function with and without keywords, and reports the ratios."""
    contestants, comparisons = {}, []
    for name, coordinates, more, _ in FUNCTIONS:
        for spelt in ("", more):
            boxed_one, boxed_loop = calls(name, coordinates, spelt)(getattr(noise, name))
            label = "%s(%s)" % (name, spelt or "...")
            typed_one, typed_loop = make_typed(name, coordinates, spelt)
            agree(boxed_one, typed_one, label)
            contestants[label + ", boxed"] = lambda loop=boxed_loop: loop(COUNT)
            contestants[label + ", " + way] = lambda loop=typed_loop: loop(COUNT)
            comparisons.append((label + ", boxed", label + ", " + way, goal, "least"))
    for loop in list(contestants.values()) * (2 * IS_PYPY):  # PyPy recompiles a function that is entered again
        loop()
    return interleaved.report(interleaved.measure(contestants, rounds), COUNT, comparisons)


def ufuncs(noise, rounds):
    """Measures calls with only the coordinates, and calls with all arguments. A ufunc takes no keywords."""
    import numpy

    contestants, comparisons = {}, []
    for name, coordinates, _, defaults in FUNCTIONS:
        function = getattr(noise, name)
        vectorized = numpy.vectorize(function)
        x = [0.1 * numpy.arange(COUNT) + shift for shift in range(coordinates)]
        for label, arrays in ((name, x), (name + ", all", [*x, *defaults])):
            typed = typedcall.ufunc(function, signature=",".join(["()"] * len(arrays)) + "->()")
            if not numpy.array_equal(typed(*arrays), vectorized(*arrays)):
                sys.exit("%s: the ufunc disagrees with numpy.vectorize" % label)
            contestants[label + ", vectorize"] = lambda given=arrays, f=vectorized: f(*given)
            contestants[label + ", ufunc"] = lambda given=arrays, f=typed: f(*given)
            comparisons.append((label + ", vectorize", label + ", ufunc", 5, "least"))
    return interleaved.report(interleaved.measure(contestants, rounds), COUNT, comparisons)


def on_pypy(noise, rounds):
    import types

    originals = types.SimpleNamespace(**{name: getattr(noise, name) for name, *_ in FUNCTIONS})
    for module in (noise._perlin, noise._simplex):
        typedcall.accelerate(module)
    fast = {"pnoise": noise._perlin, "snoise": noise._simplex}

    def make_typed(name, coordinates, spelt):
        function = getattr(fast[name[:6]], name[1:])
        if function is getattr(originals, name):
            sys.exit("%s was not accelerated" % name)
        return calls(name, coordinates, spelt)(function)

    is_right = measured(originals, make_typed, "accelerated", 15, rounds)
    return beside_pointers(originals, make_typed, rounds) and is_right


def beside_pointers(noise, make_typed, rounds):
    """Compares an accelerated function with the bare cffi pointer, which checks nothing."""
    contestants, comparisons = {}, []
    for name, coordinates, *_ in FUNCTIONS:
        pointer = typedcall.resolve(getattr(noise, name), "f" * coordinates + "->f").pointer
        for way, loop in (("accelerated", make_typed(name, coordinates, "")[1]),
                          ("pointer", calls(name, coordinates, "")(pointer)[1])):
            for _ in range(2):  # PyPy recompiles a function that is entered again
                loop(COUNT)
            contestants[name + ", " + way] = lambda loop=loop: loop(COUNT)
        comparisons.append((name + ", accelerated", name + ", pointer", 1.2, "most"))
    return interleaved.report(interleaved.measure(contestants, rounds), COUNT, comparisons)


def on_cpython(noise, rounds):
    import numba

    def make_typed(name, coordinates, spelt):
        return tuple(map(numba.njit, calls(name, coordinates, spelt)(getattr(noise, name))))

    is_right = measured(noise, make_typed, "Numba", 5, rounds)
    return ufuncs(noise, rounds) and is_right


def main():
    rounds = interleaved.rounds(__doc__, 9)
    patched.import_from("noise==1.2.2", "noise.patch")
    import noise

    return 0 if (on_pypy if IS_PYPY else on_cpython)(noise, rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
