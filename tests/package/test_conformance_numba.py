"""Tests Numba with all records of tests/conformance."""
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


# Otherwise pytest would collect the cases of test_conformance here too.
del test_conformance
