"""Tests that docs/reference/slot-ids.md lists the registrars and IDs of core/slot_id.h."""
import os
import re
import unittest

# Bazel's links lead to the repository.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Registry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(ROOT, "WORKSPACE")):
            raise unittest.SkipTest("the sources are not in the repository")
        cls.header, page = read("core/slot_id.h"), read("docs/reference/slot-ids.md")
        cls.rows = {section.partition("\n")[0]: [
            [cell.strip(" `") for cell in row.split("|")[1:-1]] for row in section.splitlines()
            if row.startswith("| 0x")] for section in page.split("\n## ")[1:]}
        cls.registrars = {"PyCustomSlot_REGISTRAR_" + name: int(number, 16) for name, number in re.findall(
            r"(?m)^#define PyCustomSlot_REGISTRAR_(\w+) (0x\w+)", cls.header)}

    def test_registrars(self):
        listed = {row[2]: int(row[0], 16) for row in self.rows["Registrars"] if row[2]}
        self.assertEqual(listed, self.registrars)
        self.assertEqual(len(listed), 7)
        free, = [row[0] for row in self.rows["Registrars"] if not row[2]]
        first, last = (int(number, 16) for number in free.split(" to "))
        given = set(self.registrars.values())
        self.assertEqual(sorted(given | set(range(first, last + 1))), list(range(0x100)))
        self.assertEqual(given & set(range(first, last + 1)), set())

    def test_ids(self):
        listed = {row[2]: int(row[0], 16) for row in self.rows["IDs"] if row[2]}
        made = {name: self.registrars[registrar] << 24 | int(idea) << 8 | int(version) << 1 | 1
                for name, registrar, idea, version in re.findall(
                    r"(?m)^#define (PyCustomSlot_ID_\w+) PyCustomSlot_ID\((\w+), (\d+), (\d+)\)", self.header)}
        self.assertEqual(listed, made)
        self.assertEqual(list(made), ["PyCustomSlot_ID_NATIVECALLABLE"])
        for row in self.rows["IDs"]:
            number = int(row[0], 16)
            self.assertEqual((number & 1, number >> 32), (1, 0), row)
            self.assertIn(number >> 24, (4, 5), row)

    def test_the_special_words(self):
        page = read("docs/reference/slot-ids.md")
        for name, number in re.findall(r"(?m)^#define (PyCustomSlot_ID_(?:EMPTY|SKIP)) \(\(uintptr_t\)(0x\d)\)",
                                       self.header):
            self.assertIn("`%s` (%s)" % (name, number), page)
