"""The matrix for properties whose cells have processes of their own, and sinks that are not in test_matrix.py's sample."""
import unittest

import support

support.module_only_if(not support.IS_PYPY, "the processes look at CPython's memory, end and interpreters")

from matrix_sinks import SINKS  # noqa: E402
from test_matrix import SAMPLE, Processes, of  # noqa: E402

for _sink in SINKS.values():
    if not _sink.is_on_pypy and _sink.is_built and _sink.name not in SAMPLE:
        _name = "".join(part.capitalize() for part in _sink.name.replace("-", " ").replace("C++", "Cpp").split())
        globals()[_name] = of(_name, _sink.name, Processes)
