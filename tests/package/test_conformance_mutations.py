"""Tests that the records of tests/conformance detect every mutation of a reader, with our headers and without."""
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
        lines = printed.splitlines()
        self.assertEqual([line for line in lines if line.startswith(("MISSED", "NOT EQUIVALENT"))], [])
        self.assertEqual(status, 0, printed)
        for target, at_least in (("headers", 30), ("members/c", 275)):
            self.assertGreater(sum(line.startswith(f"noticed {target} ") for line in lines), at_least)
