"""Tests the C++ module in several interpreters at once. Each interpreter has its own classes."""

import sys
import textwrap
import unittest

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

import greetings_cpp

SCRIPT = textwrap.dedent("""
    import sys
    sys.path[:] = %r
    import greetings_cpp

    class Friendly(greetings_cpp.Hello):
        pass

    assert Friendly("there").greet() == "Hello there!"
    assert greetings_cpp.GoodMorning().greet() == "Good morning World!"
    assert id(greetings_cpp.Hello) != %d
    assert id(type(greetings_cpp.Hello)) != %d
""")


class Interpreters(unittest.TestCase):
    def run_in(self, interpreter):
        failure = interpreters.run_string(
            interpreter,
            SCRIPT % (sys.path, id(greetings_cpp.Hello), id(type(greetings_cpp.Hello))))
        if failure is not None:  # before 3.13 it is raised
            self.fail(failure)

    def test_three_interpreters(self):
        class Friendly(greetings_cpp.Hello):
            pass

        made = [interpreters.create() for _ in range(3)]
        try:
            for interpreter in made:
                self.run_in(interpreter)
        finally:
            for interpreter in made:
                interpreters.destroy(interpreter)
        self.assertEqual(Friendly().greet(), "Hello World!")
