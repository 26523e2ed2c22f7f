"""typedcall/pybind11.h, which tags functions of pybind11."""

import unittest

import adapter_support
import support


@support.ON_CPYTHON
class TheExample(adapter_support.Example):
    def test_it_runs(self):
        pybind11 = adapter_support.library("pybind11")
        support.compiler("c++")
        printed = self.run_example("pybind11", flags=["-I" + pybind11.get_include()])
        self.assertIn("offers ['d->d']", printed)
        self.assertEqual(printed.count("raises: below absolute zero"), 2, printed)
        self.assertIn("2000 functions that lived and died: each had its own tag", printed)


if __name__ == "__main__":
    unittest.main()
