"""Tests that bench/application computes the same results with each kind of call."""
import importlib.util
import pathlib
import sys
import unittest

import support

RUN = pathlib.Path(__file__).resolve().parents[2] / "bench" / "application" / "run.py"
IS_PYPY = sys.implementation.name == "pypy"


class Application(unittest.TestCase):
    def run_it(self, *arguments):
        return support.python(RUN, "--pypy", "", "--rounds", "1", *arguments, together=True)[:2]

    def test_every_way_agrees(self):
        # The program fails if two results differ.
        code, output = self.run_it("--steps", "30", "--particles", "25")
        self.assertEqual(code, 0, output)
        self.assertIn(", boxed", output)
        self.assertEqual(", accelerated" in output, IS_PYPY, output)
        self.assertEqual(", numba" in output, importlib.util.find_spec("numba") is not None, output)

    def test_the_profile_names_the_extension_s_functions(self):
        code, output = self.run_it("--steps", "2", "--particles", "9", "--profile")
        self.assertEqual(code, 0, output)
        self.assertIn("interact", output)
        if not IS_PYPY:  # PyPy does not profile inlined functions
            self.assertIn("forces.nearest", output)
