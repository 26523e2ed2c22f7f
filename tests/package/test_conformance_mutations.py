"""Tests that the records of tests/conformance detect the removal of any check from the package's readers."""
import pathlib
import unittest

import pytest
import support

CONFORMANCE = pathlib.Path(__file__).resolve().parents[1] / "conformance"


@support.ON_CPYTHON
class Mutations(unittest.TestCase):
    # This test compiles a reader for each mutation, which takes a long time.
    @pytest.mark.timeout(800)
    def test_each_is_noticed(self):
        status, printed, _ = support.python(CONFORMANCE / "mutations.py", together=True, timeout=800)
        self.assertEqual([line for line in printed.splitlines() if line.startswith("MISSED")], [])
        self.assertEqual(status, 0, printed)
        self.assertGreater(printed.count("\nnoticed "), 30)
