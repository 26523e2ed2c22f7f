"""Tests the matrix (see test_matrix.py) for the sinks in C++, and more properties of other sinks."""
import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Others, Values, of  # noqa: E402

#: Other sinks use the same code, so only the properties of values are tested here.
globals().update(of(("ufunc of arrays", "numba without the GIL", "long made-up arrays"), Values))
globals().update(of(("numba", "duckdb", "jax"), Others))
globals().update(of(("call site", "fallback", "loop", "C++ callback", "narrowing", "cython")))
