"""Numba over all records of tests/conformance, for which it compiles a function each: test_conformance.py has a sample."""
import unittest

import adapter_support
import support
import test_conformance


@support.ON_CPYTHON
class Numba(unittest.TestCase):
    check = test_conformance.Readers.check

    def test_all_records(self):
        adapter_support.library("numba")
        self.check("reader_numba", 200)


# Its cases are another file's.
del test_conformance
