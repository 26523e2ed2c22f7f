"""Builds pycalcpp 0.2.0, a pybind11 module, with six changed lines, and compares boxed calls with Numba and
NumPy. Usage: python bench/adopters/pycalcpp_edited.py [--rounds N]"""

import glob
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import interleaved  # noqa: E402
import source_package  # noqa: E402
import typedcall  # noqa: E402

COUNT = 200_000


def tag_the_operations(folder):
    """Binds the four operations with typedcall. `division` throws for 0, so all of them fall back to Python."""
    path, = glob.glob(os.path.join(folder, "**", "Operaciones.cpp"), recursive=True)
    source_package.edit(
        path,
        (r"^(#include\s*<pybind11/pybind11\.h>.*)$", r"\1\n#include <typedcall/pybind11.h>", 1),
        (r"^(?=PYBIND11_MODULE\b)", "constexpr auto pure = PyNativeCallable_PURE | PyNativeCallable_THREAD_SAFE;\n", 1),
        (r'\bm\.def\("(suma|resta|multiplicacion|division)",\s*&\1,',
         r'typedcall::def_falling_back<\1>(m, "\1", pure,', 4))


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except RuntimeError as error:
        return type(error), str(error)


def main():
    rounds = interleaved.rounds(__doc__, 15)
    try:
        import numba
        import numpy
    except ImportError as missing:
        sys.exit("SKIPPED: %s is not installed" % missing.name)
    source_package.import_from("pycalcpp==0.2.0", tag_the_operations)
    import Operaciones

    division = Operaciones.division

    def quotients(count):
        total = 0.0
        for i in range(1, count):
            total += division(1.0, 0.5 * i)
        return total

    compiled, one = numba.njit(quotients), numba.njit(lambda a, b: division(a, b))
    x = 0.5 * numpy.arange(1, COUNT)
    typed, vectorized = typedcall.ufunc(division), numpy.vectorize(division)
    if compiled(1000) != quotients(1000) or not numpy.array_equal(typed(1, x), vectorized(1, x)):
        sys.exit("Numba or the ufunc disagrees with Python")
    for function in (one, typed):
        if outcome(function, 1.0, 0.0) != outcome(division, 1.0, 0.0):
            sys.exit("%r raises something else" % function)
    taken = interleaved.measure({
        "division, Python loop": lambda: quotients(COUNT),
        "division, Numba": lambda: compiled(COUNT),
        "division, numpy.vectorize": lambda: vectorized(1, x),
        "division, ufunc": lambda: typed(1, x),
    }, rounds)
    return 0 if interleaved.report(taken, COUNT, [
        ("division, Python loop", "division, Numba", 5, "least"),
        ("division, numpy.vectorize", "division, ufunc", 5, "least"),
    ]) else 1


if __name__ == "__main__":
    sys.exit(main())
