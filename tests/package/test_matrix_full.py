"""The matrix for sinks that compile our headers, and what test_matrix_types.py leaves out: see test_matrix.py."""
import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Others, Values, of  # noqa: E402

#: Other ways to call a ufunc and Numba's code: properties that do not involve values are theirs.
globals().update(of(("ufunc of arrays", "numba without the GIL"), Values))
globals().update(of(("numba", "duckdb", "jax"), Others))
globals().update(of(("call site", "fallback", "loop", "C++ callback", "narrowing", "cython")))
