"""Programs for the tests of Numba's disk cache."""

import json
import textwrap

import support

LIBRARY = """
#include <Python.h>
#define EXPORT __attribute__((visibility("default")))
EXPORT double half(double x) { return x / 2; }
EXPORT double third(double x) { return x / 3; }
EXPORT long half_long(long x) { return x / 2; }
EXPORT int add(int a, int b) { return a + b; }
EXPORT signed char small(signed char x) { return x; }
EXPORT int inverse(double x, double *result) {
  if (x == 0) return 1;
  *result = 1 / x;
  return 0;
}
EXPORT long check(long x) {
  if (x != 13) return x;
  PyErr_SetString(PyExc_ValueError, "thirteen");
  return -1;
}
EXPORT int status(long x, long *result) {
  *result = x;
  if (x != 13) return 0;
  PyErr_SetString(PyExc_ValueError, "status thirteen");
  return -1;
}
"""

# A module of tagged Python functions.
PROVIDER = """
import ctypes, os
import typedcall
from typedcall import Flags

library = ctypes.PyDLL(os.environ["SHAPES"])

def address(name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value

def tagged(signature, name=None, flags=0):
    def tag(function):
        names = [name or function.__name__] if isinstance(signature, str) else name
        signatures = [signature] if isinstance(signature, str) else signature
        typedcall.tag(function, signatures, [address(each) for each in names], flags=flags)
        return function
    return tag
"""

SHAPES = PROVIDER + """
simple = Flags.PURE | Flags.THREAD_SAFE

@tagged("d->d", flags=simple)
def half(x):
    return x / 2

@tagged("ii->i", flags=simple)
def add(a, b):
    return a + b if abs(a + b) < 2**31 else "too large"

@tagged(["b->l", "l->l"], ["small", "half_long"])
def overloaded(x):
    raise OverflowError("overloaded")

@tagged("d&d->i", flags=simple | Flags.FALLS_BACK)
def inverse(x):
    if x == 0:
        raise ZeroDivisionError("boxed")
    return -1.0

@tagged("l->l", flags=Flags.MAY_RAISE | Flags.NEEDS_THREAD)
def check(x):
    return x

@tagged("l&l->i", flags=Flags.RETURNS_STATUS | Flags.NEEDS_THREAD)
def status(x):
    return x

class Kept:
    @staticmethod
    @tagged("d->d", "third")
    def third(x):
        return x / 3
"""

KERNELS = """
import numba, numpy
import shapes

@numba.njit(cache=True)
def bare(x):
    return shapes.half(x) + 1

@numba.njit(cache=True)
def outer(x):
    return bare(x) * 2

@numba.njit(cache=True)
def ints(a):
    return shapes.add(a, 1)

@numba.njit(cache=True)
def overloads(x):
    return shapes.overloaded(x)

@numba.njit(cache=True, nogil=True)
def falls_back(x):
    return shapes.inverse(x)

@numba.njit(cache=True, nogil=True)
def raises(x):
    return shapes.check(x)

@numba.njit(cache=True)
def status(x):
    return shapes.status(x)

@numba.njit(cache=True)
def of_class(x):
    return third(x)

third = shapes.Kept.third

@numba.njit(cache=True, parallel=True)
def parallel(values):
    total = 0.0
    for i in numba.prange(len(values)):
        total += shapes.half(values[i])
    return total

@numba.njit(inline="always")
def inlined(x):
    return shapes.half(x)

@numba.njit(cache=True)
def with_inlined(x):
    return inlined(x) + 2

@numba.njit(cache=True)
def apply(f, x):
    return f(x)

@numba.cfunc("float64(float64)", cache=True)
def callback(x):
    return shapes.half(x)

@numba.vectorize(["float64(float64)"], cache=True)
def vectorized(x):
    return shapes.half(x)

@numba.guvectorize(["(float64[:], float64[:])"], "(n)->()", cache=True)
def generalized(values, result):
    result[0] = 0
    for value in values:
        result[0] += shapes.half(value)

def outcome(function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return [type(error).__name__, str(error).split("\\n")[0]]
    return result.tolist() if hasattr(result, "tolist") else result
"""

ALL = """
from kernels import *
values = 3 * numpy.arange(4.0)
print_all([
    outcome(bare, 3.0), outcome(outer, 3.0), outcome(ints, 5), outcome(ints, 2**31),
    [outcome(overloads, x) for x in (7, 300, -300)], outcome(overloads, numpy.uint64(2**63)),
    outcome(falls_back, 4.0), outcome(falls_back, 0.0), outcome(raises, 5), outcome(raises, 13),
    outcome(status, 5), outcome(status, 13), outcome(of_class, 9.0), outcome(parallel, values),
    outcome(with_inlined, 3.0), outcome(apply, shapes.half, 5.0), outcome(apply, third, 6.0),
    outcome(callback.ctypes, 5.0), outcome(vectorized, values), outcome(generalized, values),
])
"""

EXPECTED = [
    2.5, 5.0, 6, ["TypeError", "'str' object cannot be interpreted as an integer"],
    [7, 150, -150], ["OverflowError", "overloaded"],
    0.25, ["ZeroDivisionError", "boxed"], 5, ["ValueError", "thirteen"],
    5, ["ValueError", "status thirteen"], 3.0, 9.0,
    3.5, 2.5, 2.0, 2.5, [0.0, 1.5, 3.0, 4.5], 9.0,
]

MAIN = """
import json, sys, warnings
import numba
from numba.core import event

compiled = event.RecordingListener()
event.register("numba:compile", compiled)

def print_all(results):
    from numba.core.dispatcher import Dispatcher
    import kernels, typedcall
    found = [each for each in vars(kernels).values() if isinstance(each, Dispatcher)]
    hits = sum(sum(each.stats.cache_hits.values()) for each in found)
    misses = sum(sum(each.stats.cache_misses.values()) for each in found)
    provider = sys.modules.get("shapes")
    half = getattr(provider, "half", None)
    offered = typedcall.entries(half) if half is not None else []
    print(json.dumps({
        "results": results, "hits": hits, "misses": misses, "compiled": len(compiled.buffer) // 2,
        "warnings": [str(each.message) for each in caught if "cache" in str(each.message)],
        "address": [entry.address for entry in offered],
    }))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
"""


class Cache(support.InAFolder):
    @classmethod
    def setUpClass(cls):
        source = cls.folder_of_class() / "shapes_library.c"
        source.write_text(LIBRARY)
        cls.library = support.compile_module(source, source.parent)

    @classmethod
    def folder_of_class(cls):
        return support.temporary(cls.addClassCleanup)

    def setUp(self):
        super().setUp()
        self.write("shapes.py", SHAPES)
        self.write("kernels.py", KERNELS)

    def run_program(self, lines, name="program.py", **environment):
        """Runs a new process, which must succeed, and returns its output."""
        self.write(name, MAIN + textwrap.indent(lines, "    "))
        return json.loads(support.python(
            self.folder / name,
            environment={"NUMBA_CACHE_DIR": self.path("cache"),
                         "SHAPES": str(self.library), "PYTHONDONTWRITEBYTECODE": "1",
                         "NUMBA_NUM_THREADS": "2", **environment}, check=True).out)
