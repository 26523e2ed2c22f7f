"""Tests the table in the README of examples/class_data/article, which states how each program ends.
The programs run in child processes because some of them crash."""

import os
import re
import unittest

import designs
import processes

NO_CYTHON = os.environ.get("TYPEDCALL_NO_CYTHON", "")
FOLDER = "examples/class_data/article/"


def table():
    """Returns {module: how each program ends} from the README."""
    with open(FOLDER + "README.md", encoding="utf-8") as file:
        rows = re.findall(r"(?m)^\| `(\w+)` \|[^|]*\|(.*)\|$", file.read())
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


@unittest.skipIf(NO_CYTHON, NO_CYTHON)
class Article(unittest.TestCase):
    def test_the_table(self):
        said = table()
        self.assertEqual(list(said), list(designs.DESIGNS))
        for name, cells in said.items():
            self.assertEqual(len(cells), len(designs.PROGRAMS), name)
            for program, cell in zip(designs.PROGRAMS, cells):
                with self.subTest(design=name, program=program.__name__):
                    self.assertEqual(designs.outcome(name, program).partition(":")[0], cell)

    def test_the_crash_is_a_segmentation_fault_and_the_slot_survives_it(self):
        crashed = designs.outcome("simple_metaclass", designs.subclass)
        # ASan reports the crash and exits.
        self.assertEqual(crashed, "crash: exit status 1" if "ASAN_OPTIONS" in os.environ else "crash: SIGSEGV")
        for program in (designs.subclass, designs.with_abc):
            self.assertEqual(designs.outcome("greetings_cython", program), "Hello World!")

    def test_what_it_prints(self):
        lines = processes.python(FOLDER + "designs.py").out.splitlines()
        self.assertEqual(len(lines), len(designs.DESIGNS) * (1 + len(designs.PROGRAMS)))
        self.assertEqual([line for line in lines if not line.startswith(" ")], list(designs.DESIGNS))
        at = lines.index("mro_metaclass")
        self.assertEqual(lines[at:at + 3], ["mro_metaclass", "    itself     Hello you!", "    subclass   Hello World!"])
