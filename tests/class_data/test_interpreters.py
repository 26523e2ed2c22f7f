"""Tests the C++ module in several interpreters at once. Each interpreter has its own classes."""

import sys
import textwrap
import unittest

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

import units_cpp

SCRIPT = textwrap.dedent("""
    import sys
    sys.path[:] = %r
    import units_cpp

    class Heavy(units_cpp.Ounce):
        pass

    assert Heavy(7).text() == "7 oz"
    assert units_cpp.Kilogram().text() == "1 kg"
    assert id(units_cpp.Ounce) != %d
    assert id(type(units_cpp.Ounce)) != %d
""")


class Interpreters(unittest.TestCase):
    def run_in(self, interpreter):
        failure = interpreters.run_string(
            interpreter,
            SCRIPT % (sys.path, id(units_cpp.Ounce), id(type(units_cpp.Ounce))))
        if failure is not None:  # before 3.13 it is raised
            self.fail(failure)

    def test_three_interpreters(self):
        class Heavy(units_cpp.Ounce):
            pass

        made = [interpreters.create() for _ in range(3)]
        try:
            for interpreter in made:
                self.run_in(interpreter)
        finally:
            for interpreter in made:
                interpreters.destroy(interpreter)
        self.assertEqual(Heavy().text(), "1 oz")
