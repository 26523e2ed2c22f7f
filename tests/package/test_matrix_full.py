"""The matrix for sinks that compile something for each kind of value, or read whole queries: test_matrix.py."""
import unittest

from test_matrix import of

Numba = of("Numba", "numba")
DuckDb = of("DuckDb", "duckdb")
Jax = of("Jax", "jax")
Narrowing = of("Narrowing", "narrowing")
Cython = of("Cython", "cython")

if __name__ == "__main__":
    unittest.main()
