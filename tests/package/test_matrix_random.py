"""Tests the matrix (see test_matrix.py) for random sets of overloads."""
import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Cells, cases, of  # noqa: E402

globals().update(of(("wrapper", "ufunc", "sqlite", "sqlite3", "tvm-ffi", "numba", "duckdb", "jax"),
                    cases(Cells, "random_overloads")))
