"""The matrix (see test_matrix.py) for the sinks that compile typedcall's headers, and the properties that
test_matrix_types.py leaves out."""
import support

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

from test_matrix import Others, Values, of  # noqa: E402

#: These sinks share the ufunc and Numba's code with other sinks, so only the properties of values are tested again.
globals().update(of(("ufunc of arrays", "numba without the GIL"), Values))
globals().update(of(("numba", "duckdb", "jax"), Others))
globals().update(of(("call site", "fallback", "loop", "C++ callback", "narrowing", "cython")))
