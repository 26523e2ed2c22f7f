"""The records of tests/conformance notice if any check is removed from our readers."""
import pathlib
import subprocess
import sys
import unittest

import pytest
import support

CONFORMANCE = pathlib.Path(__file__).resolve().parents[1] / "conformance"


@support.ON_CPYTHON
class Mutations(unittest.TestCase):
    # Compiles a reader for each mutation, which takes a busy machine more than the usual limit.
    @pytest.mark.timeout(800)
    def test_each_is_noticed(self):
        done = subprocess.run([sys.executable, CONFORMANCE / "mutations.py"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("MISSED")], [])
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertGreater(done.stdout.count("\nnoticed "), 30)
