"""Tests tools/coverage."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import coverage  # noqa: E402


class Coverage(unittest.TestCase):
    LCOV = "SF:core/slot_id.h\nDA:1,2\nDA:2,0\nBRDA:1,0,0,1\nBRDA:1,0,1,-\nend_of_record\n"

    def lost(self, old, new):
        """Returns (whether a difference was found, output)."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            is_lost = coverage.compare(*([coverage.Line("core/a.h", number, *line) for number, line in enumerate(lines)]
                                         for lines in (old, new)))
        return is_lost, printed.getvalue()

    def test_lines_and_branches_of_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".info") as file:
            file.write(self.LCOV)
            file.flush()
            first, second = coverage.read(file.name)
        self.assertEqual(first[:2] + first[3:], ("core/slot_id.h", 1, True, 1, 2))
        self.assertEqual(second[3:], (False, 0, 0))

    def test_what_moves_is_not_lost(self):
        lines = [("return 1;", True, 0, 0), ("if (x) {", True, 1, 2)]
        self.assertFalse(self.lost(lines, [("new();", False, 0, 0), *reversed(lines)])[0])

    def test_what_goes_is_not_lost(self):
        self.assertFalse(self.lost([("return 1;", True, 0, 0)] * 2, [("return 1;", True, 0, 0)])[0])

    def test_a_line_and_a_branch_are_lost(self):
        is_lost, printed = self.lost([("return 1;", True, 0, 0), ("if (x) {", True, 2, 2)],
                                     [("return 1;", False, 0, 0), ("if (x) {", True, 1, 2)])
        self.assertTrue(is_lost)
        self.assertIn("core/a.h:0: line no longer covered: return 1;", printed)
        self.assertIn("core/a.h:1: branch no longer covered: if (x) {", printed)
