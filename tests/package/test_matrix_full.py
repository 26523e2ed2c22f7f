"""The matrix for sinks that compile headers of ours, and what test_matrix_types.py leaves out: test_matrix.py."""
import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Others, Values, of  # noqa: E402

#: A ufunc and Numba's code, called in another way: what is not about values is theirs.
globals().update(of(("ufunc of arrays", "numba without the GIL"), Values))
globals().update(of(("numba", "duckdb", "jax"), Others))
globals().update(of(("call site", "fallback", "loop", "C++ callback", "narrowing", "cython")))
