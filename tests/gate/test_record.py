"""Tests the rows that a run writes into docs/support.md."""
import datetime
import pathlib
import tempfile
import unittest
import unittest.mock

import gate_support  # noqa: F401, finds tools/

import record
from results import FAILED, PASSED, SKIPPED, Case, Run

TODAY = datetime.date.today().isoformat()


def page(*rows):
    return "before\n" + record.HEAD + "".join(f"| {row} |\n" for row in rows) + "\nafter\n"


class Rows(unittest.TestCase):
    def test_of_a_part_with_an_interpreter(self):
        for name, row in (("CPython 3.11.7", ("C and C++", "CPython 3.11.7")),
                          ("package alone, PyPy 3.9.16", ("package alone", "PyPy 3.9.16")),
                          ("asan and ubsan, CPython 3.11.2 debug", ("asan and ubsan", "CPython 3.11.2 debug")),
                          ("preflight", ("preflight", "")), ("package, a newer PyPy", ("package, a newer PyPy", ""))):
            self.assertEqual(record.row_of(name), row)

    def test_of_parts_that_have_passed(self):
        runs = [Run("good", [Case("a", PASSED), Case("b", SKIPPED)], 1), Run("skipped", [Case("a", SKIPPED)], 1),
                Run("bad", [Case("a", PASSED), Case("b", FAILED)], 1)]
        self.assertEqual(list(record.passed(runs)), ["good"])

    def test_of_nested_runs_are_those_of_their_parts(self):
        log = ("part              passed   failed  skipped  seconds\n"
               "CPython 3.15.2       700        0        3       20\n"
               "threads, CPython 3.15.2  5      1        0        2\n"
               "all                  705        1        3       22\n")
        self.assertEqual(list(record.passed([Run("newest", [Case("a", PASSED, log=log)], 1)])), ["CPython 3.15.2"])


class Pages(unittest.TestCase):
    def merged(self, rows, *new):
        text = record.merged(page(*rows), new)
        self.assertTrue(text.startswith("before\n" + record.HEAD))
        self.assertTrue(text.endswith("|\n\nafter\n"))
        return [line[2:-2] for line in text.splitlines() if line.startswith("| ") and line != record.HEAD.split("\n")[0]]

    def test_a_new_row_stands_in_its_order(self):
        self.assertEqual(self.merged(["a | 1.2.3 | full | then", "c | | gate | then"], ("b", "", "full", "now")),
                         ["a | 1.2.3 | full | then", "b | | full | now", "c | | gate | then"])

    def test_a_newer_patch_release_replaces_the_older_one(self):
        old = ["C | CPython 3.9.17 | by hand | then", "C | CPython 3.9.17 debug | gate | then"]
        self.assertEqual(self.merged(old, ("C", "CPython 3.9.18", "full", "now")),
                         ["C | CPython 3.9.18 | full | now", old[1]])

    def test_a_page_without_a_table_is_refused(self):
        with self.assertRaisesRegex(ValueError, "has no table"):
            record.merged("before\n", [])

    def test_the_tier_is_the_gate_if_the_gate_has_the_part(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(
                record, "PAGE", pathlib.Path(folder) / "support.md"):
            record.PAGE.write_text(page("musl | | full | then"), encoding="utf-8")
            record.record([Run(name, [Case("a", PASSED)], 1) for name in ("preflight", "fuzz, CPython 3.11.7")],
                          record.FULL, {"preflight"})
            self.assertEqual(record.PAGE.read_text(encoding="utf-8"), page(
                f"fuzz | CPython 3.11.7 | full | {TODAY}", "musl | | full | then", f"preflight | | gate | {TODAY}"))

    def test_the_page_in_the_tree_can_be_written_again(self):
        text = record.PAGE.read_text(encoding="utf-8")
        self.assertEqual(record.merged(text, []), text)


if __name__ == "__main__":
    unittest.main()
