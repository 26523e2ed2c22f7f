"""Tests the table in the README of examples/class_data/designs, which states how each program ends.
The programs run in child processes because some of them crash."""

import os
import re
import unittest

import compare
import processes

NO_CYTHON = os.environ.get("TYPEDCALL_NO_CYTHON", "")
FOLDER = "examples/class_data/designs/"


def table():
    """Returns {module: how each program ends} from the README."""
    with open(FOLDER + "README.md", encoding="utf-8") as file:
        rows = re.findall(r"(?m)^\| `(\w+)` \|[^|]*\|(.*)\|$", file.read())
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


@unittest.skipIf(NO_CYTHON, NO_CYTHON)
class FiveDesigns(unittest.TestCase):
    def test_the_table(self):
        said = table()
        self.assertEqual(list(said), list(compare.DESIGNS))
        for name, cells in said.items():
            self.assertEqual(len(cells), len(compare.PROGRAMS), name)
            for program, cell in zip(compare.PROGRAMS, cells):
                with self.subTest(design=name, program=program.__name__):
                    self.assertEqual(compare.outcome(name, program).partition(":")[0], cell)

    def test_the_crash_is_a_segmentation_fault_and_the_slot_survives_it(self):
        crashed = compare.outcome("metaclass", compare.subclass)
        # ASan reports the crash and exits.
        self.assertEqual(crashed, "crash: exit status 1" if "ASAN_OPTIONS" in os.environ else "crash: SIGSEGV")
        for program in (compare.subclass, compare.with_abc):
            self.assertEqual(compare.outcome("units_cython", program), "1 oz")

    def test_what_it_prints(self):
        lines = processes.python(FOLDER + "compare.py").out.splitlines()
        self.assertEqual(len(lines), len(compare.DESIGNS) * (1 + len(compare.PROGRAMS)))
        self.assertEqual([line for line in lines if not line.startswith(" ")], list(compare.DESIGNS))
        at = lines.index("mro_walk")
        self.assertEqual(lines[at:at + 3], ["mro_walk", "    itself     5 oz", "    subclass   1 oz"])
