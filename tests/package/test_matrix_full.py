"""The matrix for sinks that compile something for each kind of value, or read whole queries: test_matrix.py."""
import unittest

import support
from test_matrix import Matrix


@support.ON_CPYTHON
class Numba(Matrix, unittest.TestCase):
    sink = "numba"


@support.ON_CPYTHON
class DuckDb(Matrix, unittest.TestCase):
    sink = "duckdb"


@support.ON_CPYTHON
class Jax(Matrix, unittest.TestCase):
    sink = "jax"


if __name__ == "__main__":
    unittest.main()
