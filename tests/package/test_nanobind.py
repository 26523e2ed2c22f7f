"""typedcall/nanobind.h, which tags functions of nanobind."""

import unittest

import adapter_support
import support


@support.ON_CPYTHON
class TheExample(adapter_support.Example):
    def test_it_runs(self):
        adapter_support.library("nanobind")
        support.compiler("c++")
        printed = self.run_example("nanobind", build="build.py")
        self.assertIn("offers ['d->d']", printed)
        # Two names of one function have flags of their own.
        self.assertIn("promised: PURE of kelvin, 0 of to_kelvin", printed)
        self.assertEqual(printed.count("raises: below absolute zero"), 2, printed)
        self.assertIn("untagged: True []", printed)


if __name__ == "__main__":
    unittest.main()
