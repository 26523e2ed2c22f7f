"""Builds noise 1.2.2, tags all functions from outside, with their defaults and keywords, and compares boxed calls
with Numba, NumPy and PyPy. Usage: python bench/adopters/noise_octaves.py [--rounds N]"""

import ctypes
import os
import random
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import interleaved  # noqa: E402
import source_package  # noqa: E402
import typedcall  # noqa: E402
from typedcall import Flags  # noqa: E402

COUNT = 50_000
IS_PYPY = sys.implementation.name == "pypy"
LARGEST = 3.4028234663852886e+38  # FLT_MAX: no repeat
OCTAVES = {"octaves": 1, "persistence": 0.5, "lacunarity": 2.0}
#: Each row contains a function's name, the number of coordinates, the keywords to pass, and all
#: parameters after the coordinates, with their defaults.
FUNCTIONS = [
    ("pnoise1", 1, "octaves=2, repeat=64", {**OCTAVES, "repeat": 1024, "base": 0}),
    ("pnoise2", 2, "octaves=2, repeatx=64.0, base=1", {**OCTAVES, "repeatx": 1024.0, "repeaty": 1024.0, "base": 0}),
    ("pnoise3", 3, "octaves=2, persistence=0.25",
     {**OCTAVES, "repeatx": 1024, "repeaty": 1024, "repeatz": 1024, "base": 0}),
    ("snoise2", 2, "octaves=2, base=0.5", {**OCTAVES, "repeatx": LARGEST, "repeaty": LARGEST, "base": 0.0}),
    ("snoise3", 3, "octaves=2, lacunarity=3.0", OCTAVES),
    ("snoise4", 4, "octaves=2, persistence=0.25", OCTAVES),
]
#: The format of snoise4's arguments has seven units for six addresses, so a call from Python must not pass lacunarity.
NO_LACUNARITY = {"snoise4"}
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


def tag_functions(noise):
    """Tags each function with a sum of octaves and with a function of the coordinates alone."""
    own = ctypes.CDLL(source_package.compile_library("noise_octaves.c"))
    shown = {"p": ("perlin", ctypes.CDLL(noise._perlin.__file__)), "s": ("simplex", ctypes.CDLL(noise._simplex.__file__))}
    pure = Flags.PURE | Flags.THREAD_SAFE
    for name, coordinates, _, more in FUNCTIONS:
        kind, library = shown[name[0]]
        once = library["noise%d" % coordinates]
        ctypes.c_void_p.in_dll(own, kind + name[-1]).value = ctypes.cast(once, ctypes.c_void_p).value
        if kind == "perlin":
            once = own[name + "_once"]
        x = "f" * coordinates
        letters = "".join("i" if isinstance(value, int) else "f" for value in more.values())
        parameters = [*"xyzw"[:coordinates], *("%s=%r" % pair for pair in more.items())]
        addresses = [ctypes.cast(function, ctypes.c_void_p) for function in (own[name + "_sum"], once)]
        typedcall.tag(getattr(noise, name), [x + letters + "&f->i", x + "->f"], addresses,
                      flags=[pure | Flags.FALLS_BACK, pure], parameters="(%s)" % ", ".join(parameters))


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
        cases = [(name, x)]
        if name not in NO_LACUNARITY:
            cases.append((name + ", all", [*x, *defaults.values()]))
        for label, arrays in cases:
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
    source_package.import_from("noise==1.2.2")
    import noise

    tag_functions(noise)
    return 0 if (on_pypy if IS_PYPY else on_cpython)(noise, rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
