"""The matrix's choice among random sets of overloads, for the sinks that choose by values or types: test_matrix.py."""
import unittest

import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Cells, of  # noqa: E402


class Choice(Cells):
    def test_random_overloads(self):
        self.check("random_overloads")


Wrapper = of("Wrapper", "wrapper", Choice)
Ufunc = of("Ufunc", "ufunc", Choice)
Sqlite = of("Sqlite", "sqlite", Choice)
Sqlite3 = of("Sqlite3", "sqlite3", Choice)
TvmFfi = of("TvmFfi", "tvm-ffi", Choice)
Numba = of("Numba", "numba", Choice)
DuckDb = of("DuckDb", "duckdb", Choice)
Jax = of("Jax", "jax", Choice)
