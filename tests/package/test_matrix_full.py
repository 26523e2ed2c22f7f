"""The matrix for sinks that compile headers of ours, and what test_matrix_types.py leaves out: test_matrix.py."""
import unittest

import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Others, Values, of  # noqa: E402

#: A ufunc and Numba's code, called in another way: what is not about values is theirs.
UfuncOfArrays = of("UfuncOfArrays", "ufunc of arrays", Values)
NumbaWithoutGil = of("NumbaWithoutGil", "numba without the GIL", Values)
Numba = of("Numba", "numba", Others)
DuckDb = of("DuckDb", "duckdb", Others)
Jax = of("Jax", "jax", Others)
CallSite = of("CallSite", "call site")
Fallback = of("Fallback", "fallback")
Loop = of("Loop", "loop")
CppCallback = of("CppCallback", "C++ callback")
Narrowing = of("Narrowing", "narrowing")
Cython = of("Cython", "cython")
