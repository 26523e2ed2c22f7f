"""The demo itself: it ends well, and prints a row for every tagged function and a line per integral."""

import os
import re
import subprocess
import sys
import unittest


class Demo(unittest.TestCase):
    def test_the_quick_demo(self):
        ended = subprocess.run(
            [sys.executable, "examples/quickstart/demo.py", "--quick"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
        )
        self.assertEqual(ended.returncode, 0, ended.stdout)
        rows = re.findall(r"^\S+\.\w+ +[\w&]+->\w .* +[\d.]+x ", ended.stdout, re.MULTILINE)
        own = [row for row in rows if row.startswith("quickstart_")]
        self.assertEqual(len(own), 6, ended.stdout)
        self.assertGreater(len(rows), 30, ended.stdout)
        self.assertRegex(ended.stdout, r"math\.gamma .* DIFFERS, \d+ x only Python raises")
        self.assertRegex(ended.stdout, r"math\.sqrt +d&d->i .* none +falls back, \d+ x both raise")
        differing = re.findall(r"^math\.(\w+) .* DIFFERS", ended.stdout, re.MULTILINE)
        self.assertEqual(differing, ["gamma", "hypot", "lgamma"])
        self.assertRegex(ended.stdout, r"math\.sin +=  ?[12]\.\d+ in +\d+ evaluations, unboxed")
        self.assertRegex(ended.stdout, r"lambda.* evaluations, boxed")
        self.assertIn("Every entry without DIFFERS agreed", ended.stdout)


if __name__ == "__main__":
    unittest.main()
