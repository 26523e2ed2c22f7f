"""Compares SciPy's quad over a tagged function with quad over a LowLevelCallable and over the Python callable. Usage:
python bench/scipy_quad.py [--rounds N]"""

import ctypes
import sys

import build_module
import interleaved
import typedcall
from scipy import LowLevelCallable
from scipy.integrate import quad

callees = build_module.load("adapter_callees.cc")
CALLS = 200


def main():
    rounds = interleaved.rounds(__doc__, 101)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = ctypes.create_string_buffer(b"double (double)")
    address = ctypes.cast(ctypes.CDLL(callees.__file__).bench_curve, ctypes.c_void_p).value
    by_hand = LowLevelCallable(new_capsule(address, ctypes.cast(name, ctypes.c_char_p), None))
    tagged = typedcall.low_level_callable(callees.curve)
    if not quad(tagged, -9, 9) == quad(by_hand, -9, 9) == quad(callees.curve, -9, 9):
        raise SystemExit("the integrals differ")
    evaluations = quad(tagged, -9, 9, full_output=True)[2]["neval"]

    def integrals(function):
        def run():
            for _ in range(CALLS):
                quad(function, -9, 9)

        return run

    taken = interleaved.measure(
        {
            "quad, tagged": integrals(tagged),
            "quad, LowLevelCallable by hand": integrals(by_hand),
            "quad, Python callable": integrals(callees.curve),
        },
        rounds,
    )
    comparisons = [
        ("quad, tagged", "quad, LowLevelCallable by hand", 1.05, "most"),
        ("quad, Python callable", "quad, tagged", 1, "least"),
    ]
    print("%d evaluations an integral" % evaluations)
    return 0 if interleaved.report(taken, CALLS * evaluations, comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
