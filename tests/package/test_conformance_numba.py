"""Numba on all records of tests/conformance, compiling a function for each; test_conformance.py has a sample."""
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


# pytest would otherwise collect the cases of the imported test_conformance here, too.
del test_conformance
