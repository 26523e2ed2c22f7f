"""Tests examples/type_data, which only uses the names of PEP 697."""
import array
import contextlib
import gc
import io
import os
import pathlib
import runpy
import unittest

import states

EXAMPLE = pathlib.Path(os.environ["EXAMPLE"])


class SubList(unittest.TestCase):
    def test_the_state_is_each_instance_s_own(self):
        first, second = states.SubList([3]), states.SubList()
        self.assertIs(first.bump(), first)
        first.bump()
        self.assertEqual((first, first.state, second.state), ([3], 2, 0))
        with self.assertRaises(AttributeError):
            first.state = 1  # READONLY
        with self.assertRaisesRegex(TypeError, "no arguments"):
            first.bump(1)

    def test_in_subclasses(self):
        class Sub(states.SubList):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                self.name = "sub"

        class Slots(Sub):
            __slots__ = ("more",)

        for cls in (Sub, Slots):
            made = cls(range(1000))
            made.more = made.bump().bump().state
            self.assertEqual((made.state, made.more, made.name, sum(made)), (2, 2, "sub", 499500))
        self.assertGreaterEqual(states.SubList.__basicsize__, list.__basicsize__ + 4)

    def test_another_s_instance_is_refused(self):
        with self.assertRaises(TypeError):
            states.SubList.bump([])

    def test_it_goes_away(self):
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(100):
            cycle = states.SubList()
            cycle.append(cycle.bump())
        del cycle
        gc.collect()
        self.assertLess(len(gc.get_objects()), before + 50)


class UnitArray(unittest.TestCase):
    def test_the_unit_and_the_array(self):
        lengths = states.UnitArray("d", [1.0, 2.5])
        self.assertEqual(lengths.unit, 0.0)
        lengths.unit = 0.3048
        lengths.extend(range(1000))
        self.assertEqual((lengths.unit, len(lengths), lengths[1]), (0.3048, 1002, 2.5))
        self.assertIsInstance(lengths, array.array)
        self.assertEqual(memoryview(lengths).format, "d")


class Demo(unittest.TestCase):
    def test_it_prints_what_its_readme_says(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(EXAMPLE / "demo.py"))
        self.assertEqual(len(printed.getvalue().splitlines()), 2)
        readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
        for line in printed.getvalue().splitlines():
            self.assertIn("    " + line + "\n", readme)
