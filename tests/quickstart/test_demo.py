"""Tests the output of the demo."""

import re
import sys
import unittest

import processes


class Demo(unittest.TestCase):
    def test_the_quick_demo(self):
        said = processes.python("examples/quickstart/demo.py", "--quick", together=True, paths=sys.path).out
        rows = re.findall(r"^\S+\.\w+ +[\w&]+->\w .* +[\d.]+x ", said, re.MULTILINE)
        own = [row for row in rows if row.startswith("quickstart_")]
        self.assertEqual(len(own), 6, said)
        self.assertGreater(len(rows), 30, said)
        self.assertRegex(said, r"math\.gamma .* DIFFERS, \d+ x only Python raises")
        self.assertRegex(said, r"math\.sqrt +d&d->i .* none +falls back, \d+ x both raise")
        differing = re.findall(r"^math\.(\w+) .* DIFFERS", said, re.MULTILINE)
        self.assertEqual(differing, ["gamma", "hypot", "lgamma"])
        self.assertRegex(said, r"math\.sin +=  ?[12]\.\d+ in +\d+ evaluations, unboxed")
        self.assertRegex(said, r"lambda.* evaluations, boxed")
        self.assertIn("Every entry without DIFFERS agreed", said)
