"""Tests the designs of bench/class_data_designs.cc against the table in the example's README."""

import sys
import unittest

import class_data_designs as designs
import processes

DYNAMIC = [name for name in designs.designs if name not in ("plain", "module variable")]
INHERITED = ["metaclass, MRO walk", "meta-metaclass", "custom slot"]


def below(*bases):
    return type(bases[-1])("Below", bases, {})


class Plain:
    pass


def table_rows(text):
    """Returns the table in `text` as {design: cells}."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 11 and cells[1] in designs.designs:
            rows[cells[1]] = cells[2:-1]
    return rows


def words_of(cells):
    """Replaces figures with None, because they differ between machines."""
    return [None if cell[:1].isdigit() or cell[:1] in "+-" else cell for cell in cells]


class Designs(unittest.TestCase):
    def find(self, name, cls):
        return designs.find(name, cls())

    def test_there_are_six_and_the_plain_class(self):
        self.assertEqual(len(designs.designs), 7)
        self.assertEqual(len(DYNAMIC), 5)

    def test_every_class_itself(self):
        for name in DYNAMIC:
            base = designs.base()
            ounce, kilogram = designs.make(name, base), designs.make(name, base, True)
            self.assertEqual(self.find(name, ounce), "oz", name)
            self.assertEqual(self.find(name, kilogram), "kg", name)

    def test_one_variable_has_one_class(self):
        name, base = "module variable", designs.base()
        cls = designs.make(name, base)
        self.assertEqual(self.find(name, below(cls)), "oz")
        self.assertEqual(cls().text(), "oz")
        with self.assertRaises(NotImplementedError):
            designs.make(name, base, True)

    def test_subclasses(self):
        for name in DYNAMIC:
            cls = designs.make(name, designs.base(), True)
            for made in (below(cls), below(below(cls)), below(Plain, cls), below(Plain, below(cls))):
                found = self.find(name, made)
                self.assertEqual(found, "kg" if name in INHERITED else None, name)

    def test_of_two(self):
        for name in INHERITED:
            base = designs.base()
            ounce, kilogram = designs.make(name, base), designs.make(name, base, True)
            if name == "meta-metaclass":
                with self.assertRaisesRegex(TypeError, "metaclass conflict"):
                    below(kilogram, ounce)
            else:
                self.assertEqual(self.find(name, below(kilogram, ounce)), "kg", name)
                self.assertEqual(self.find(name, below(ounce, kilogram)), "oz", name)

    def test_measuring_what_is_not_found_is_refused(self):
        cls = designs.make("metaclass", designs.base())
        with self.assertRaises(ValueError):
            designs.measure("metaclass", below(cls)(), 10, True)
        with self.assertRaises(ValueError):
            designs.find("no such design", cls())

    def test_the_table(self):
        said = processes.python("bench/class_data.py", "--rounds=3", "--accesses=100", "--classes=20",
                                together=True).out
        rows = table_rows(said)
        self.assertEqual(list(rows), designs.designs, said)
        for name, cells in rows.items():
            self.assertRegex(cells[0], r"^\d+\.\d+ ± \d+\.\d+$")
            if name in DYNAMIC:
                self.assertEqual(cells[6], "right" if name in INHERITED else "nothing")
        self.assertEqual(rows["metaclass"][1:3], ["nothing", "nothing"])
        self.assertEqual([rows[name][7] for name in INHERITED],
                         ["right", "metaclass conflict", "right"])
        with open("examples/class_data/README.md", encoding="utf-8") as file:
            printed = table_rows(file.read())
        for name, cells in rows.items():
            self.assertEqual(words_of(printed[name]), words_of(cells), name)
        # With a meta-metaclass, each class needs a second object.
        self.assertGreater(int(rows["meta-metaclass"][4]), 1000)
        if "t" not in sys.abiflags:
            # The allocator of free-threaded builds rounds sizes up further.
            self.assertLess(int(rows["custom slot"][4]), 48 + 8 + 72)
