"""Compares a generalised ufunc made from a tagged function with one written by hand in C, and with
numpy.vectorize. Usage: python bench/numpy_gufunc.py [--rounds N]"""

import ctypes
import functools
import sys

import build_module
import interleaved
import numpy
import typedcall
from numpy._core._multiarray_umath import _UFUNC_API
from typedcall.record.capsules import capsule_address

callees = build_module.load("adapter_callees.cc")
symbols = ctypes.CDLL(callees.__file__)
LENGTHS = (3, 30, 300)
ELEMENTS = 600_000


def norm(x):
    """Computes the norm in Python."""
    return symbols.bench_norm(x.ctypes.data_as(ctypes.c_void_p), len(x))


symbols.bench_norm.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t]
symbols.bench_norm.restype = ctypes.c_double
typedcall.tag(norm, "*kd->d", ctypes.cast(symbols.bench_norm, ctypes.c_void_p).value,
              flags=int(typedcall.Flags.THREAD_SAFE))


def gufunc_by_hand():
    """Makes a generalised ufunc from the loop in bench/adapter_callees.cc."""
    table = (ctypes.c_void_p * 32).from_address(capsule_address(_UFUNC_API))
    pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    make = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, pointer, pointer, integer, integer, integer,
                             integer, text, text, integer, text)(table[31])
    loops = (pointer * 1)(ctypes.cast(symbols.bench_rows_by_hand, pointer))
    data = (pointer * 1)(None)
    double = numpy.dtype("f8").num
    types = (ctypes.c_char * 2)(double, double)
    name = ctypes.create_string_buffer(b"by_hand")
    name_pointer = ctypes.cast(name, text)
    made = make(loops, data, types, 1, 1, 1, -1, name_pointer, name_pointer, 0, b"(n)->()")
    return made, (loops, data, types, name)


def main():
    rounds = interleaved.rounds(__doc__, 101)
    tagged = typedcall.ufunc(norm)
    by_hand, _kept = gufunc_by_hand()
    vectorized = numpy.vectorize(norm, signature="(n)->()")
    is_right = True
    for length in LENGTHS:
        count = ELEMENTS // length
        values = numpy.linspace(-9, 9, count * length).reshape(count, length)
        few = values[:2000]
        gaps = numpy.repeat(values, 2, axis=-1)[:, ::2]
        out = numpy.empty(count)
        if not (numpy.array_equal(tagged(values), by_hand(values))
                and numpy.array_equal(tagged(gaps), by_hand(values))
                and numpy.array_equal(tagged(few), vectorized(few))):
            raise SystemExit("the results differ")
        print(f"rows of {length}:")
        contestants = {
            "gufunc, tagged": functools.partial(tagged, values, out=out),
            "gufunc, by hand in C": functools.partial(by_hand, values, out=out),
            "gufunc, tagged, rows with gaps": functools.partial(tagged, gaps, out=out),
        }
        taken = interleaved.measure(contestants, rounds)
        slow = interleaved.measure({"numpy.vectorize": functools.partial(vectorized, few)},
                                   max(rounds // 10, 3))
        taken["numpy.vectorize"] = [each * count / len(few) for each in slow["numpy.vectorize"]]
        comparisons = [("gufunc, tagged", "gufunc, by hand in C", 1.1, "most")]
        is_right = interleaved.report(taken, count, comparisons, f"rows of {length}") and is_right
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
