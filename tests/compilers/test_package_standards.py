"""Compiles the Python package's C++ sources under the standards that test_package_sources.py leaves out."""
import unittest

import compilers
import test_package_sources


class OtherStandards(unittest.TestCase):
    def test_compiler_of_this_build(self):
        test_package_sources.check(self, [compilers.of_this_build()], "c++17")

    def test_clang(self):
        test_package_sources.check(self, compilers.installed("clang++") or self.skipTest("no clang here"), "c++20")
