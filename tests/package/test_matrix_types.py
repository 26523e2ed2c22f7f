"""Tests the matrix (see test_matrix.py) for the sinks that compile code for each type."""
import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Calls, of  # noqa: E402

globals().update(of(("numba", "duckdb", "jax"), Calls))
