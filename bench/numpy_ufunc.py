"""Compares a ufunc made from a tagged function with one written by hand in C, and with
numpy.vectorize. Usage: python bench/numpy_ufunc.py [--rounds N]"""

import ctypes
import sys

import build_module
import interleaved
import numba
import numpy
import typedcall
from numpy._core._multiarray_umath import _UFUNC_API
from typedcall.record.capsules import capsule_address

callees = build_module.load("adapter_callees.cc")
COUNT = 1_000_000
SHORT = 50_000


def ufunc_by_hand():
    """Makes a ufunc from the loop in bench/adapter_callees.cc."""
    table = (ctypes.c_void_p * 2).from_address(capsule_address(_UFUNC_API))
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
    )(table[1])
    loop = ctypes.cast(ctypes.CDLL(callees.__file__).bench_loop_by_hand, ctypes.c_void_p)
    loops = (ctypes.c_void_p * 1)(loop)
    data = (ctypes.c_void_p * 1)(None)
    double = numpy.dtype("f8").num
    types = (ctypes.c_char * 2)(double, double)
    name = ctypes.create_string_buffer(b"by_hand")
    made = make(
        loops,
        data,
        types,
        1,
        1,
        1,
        -1,
        ctypes.cast(name, ctypes.c_char_p),
        ctypes.cast(name, ctypes.c_char_p),
        0,
    )
    return made, (loops, data, types, name)


@numba.vectorize(["float64(float64)"])
def own_curve(x):
    return x * x / 2 + 1 / (1 + x * x)


def main():
    rounds = interleaved.rounds(__doc__, 101)
    values = numpy.linspace(-9, 9, COUNT)
    few = values[:: COUNT // SHORT]
    out = numpy.empty_like(values)
    tagged = typedcall.ufunc(callees.curve)
    by_hand, _kept = ufunc_by_hand()
    vectorized = numpy.vectorize(callees.curve, otypes=[float])
    from_python = numpy.frompyfunc(callees.curve, 1, 1)
    if not (
        numpy.array_equal(tagged(values), by_hand(values))
        and numpy.array_equal(tagged(few), vectorized(few))
    ):
        raise SystemExit("the results differ")
    strided, strided_out = numpy.repeat(values, 2)[::2], numpy.repeat(values, 2)[::2]
    taken = interleaved.measure(
        {
            "ufunc, tagged": lambda: tagged(values, out=out),
            "ufunc, by hand in C": lambda: by_hand(values, out=out),
            # The compiler inlines this function.
            "numba.vectorize, its own function": lambda: own_curve(values, out=out),
            "ufunc, tagged, strided": lambda: tagged(strided, out=strided_out),
            "ufunc, by hand in C, strided": lambda: by_hand(strided, out=strided_out),
        },
        rounds,
    )
    slow = interleaved.measure({"numpy.vectorize": lambda: vectorized(few),
                                "numpy.frompyfunc": lambda: from_python(few)}, rounds)
    taken.update({name: [each * COUNT / len(few) for each in times]
                  for name, times in slow.items()})
    comparisons = [
        ("ufunc, tagged", "ufunc, by hand in C", 1.05, "most"),
        ("ufunc, tagged, strided", "ufunc, by hand in C, strided", 1.05, "most"),
        ("numpy.vectorize", "ufunc, tagged", 10, "least"),
    ]
    return 0 if interleaved.report(taken, COUNT, comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
