"""Tests the matrix (see test_matrix.py) for Numba code that passes Optionals."""
import support

support.module_only_if(not support.IS_PYPY, "the sink is CPython's")

from test_matrix import Values, cases, of  # noqa: E402

globals().update(of(("numba with Optionals",), cases(
    Values, "native", "texts", "defaults", "buffers", "threads", "random_overloads")))
