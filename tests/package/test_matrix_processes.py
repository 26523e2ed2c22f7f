"""Tests the matrix for the properties that run in separate processes."""
import support

support.module_only_if(not support.IS_PYPY, "the processes look at CPython's memory, end and interpreters")

from matrix_sinks import SINKS  # noqa: E402
from test_matrix import SAMPLE, Processes, of  # noqa: E402

globals().update(of([sink for sink in SINKS if sink not in SAMPLE], Processes))
