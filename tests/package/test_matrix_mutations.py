"""Tests that the matrix notices every mutation of the engine (see matrix_mutations.py)."""
import pathlib
import unittest

import matrix_mutations
import pytest
import support


@support.ON_CPYTHON
class Mutations(unittest.TestCase):
    # This test compiles the sinks for each mutation, which takes a long time.
    @pytest.mark.timeout(800)
    def test_each_is_noticed(self):
        status, printed, _ = support.python(pathlib.Path(matrix_mutations.__file__), together=True, timeout=800)
        lines = printed.splitlines()
        self.assertEqual([line for line in lines if line.startswith(("MISSED", "NOT EQUIVALENT"))], [])
        self.assertEqual(status, 0, printed)
        self.assertGreater(sum(line.startswith("noticed ") for line in lines), 30)
