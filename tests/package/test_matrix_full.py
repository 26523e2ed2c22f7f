"""The matrix for sinks that compile something, headers of ours or each kind of value, or read whole queries: test_matrix.py."""
import unittest

import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import of  # noqa: E402

Numba = of("Numba", "numba")
DuckDb = of("DuckDb", "duckdb")
Jax = of("Jax", "jax")
CallSite = of("CallSite", "call site")
Fallback = of("Fallback", "fallback")
Loop = of("Loop", "loop")
CppCallback = of("CppCallback", "C++ callback")
Narrowing = of("Narrowing", "narrowing")
Cython = of("Cython", "cython")

if __name__ == "__main__":
    unittest.main()
