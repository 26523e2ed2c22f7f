"""Like test_package_sources.py, but with the other standard of each compiler."""
import unittest

import compilers
import test_package_sources


class OtherStandards(unittest.TestCase):
    def test_compiler_of_this_build(self):
        test_package_sources.check(self, [compilers.of_this_build()], "c++17")

    def test_clang(self):
        test_package_sources.check(self, compilers.installed("clang++") or self.skipTest("no clang here"), "c++20")
