"""The recipe that tags functions of nanobind."""

import unittest

import adapter_support
import support


class TheExample(adapter_support.Example):
    def test_it_runs(self):
        adapter_support.library("nanobind")
        support.compiler("c++")
        printed = self.run_example("nanobind", build="build.py")
        self.assertIn("offers ['d->d']", printed)
        self.assertIn("untagged: True []", printed)


if __name__ == "__main__":
    unittest.main()
