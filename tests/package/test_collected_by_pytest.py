"""Tests conftest.py: a file whose cases are all for other runtimes is not an error. Any other file without cases is an
error."""
import importlib.util
import pathlib
import shutil
import tempfile
import unittest

import support

CONFTEST = pathlib.Path(__file__).with_name("conftest.py")
COLLECTED = CONFTEST.parents[1] / "support" / "collected.py"


@unittest.skipIf(importlib.util.find_spec("pytest") is None, "pytest is not installed")
class Collected(unittest.TestCase):
    def run_pytest(self, text, *options):
        """Returns pytest's (status, output) for a file with this text."""
        with tempfile.TemporaryDirectory() as folder:
            tests, shared = pathlib.Path(folder, "package"), pathlib.Path(folder, "support")
            tests.mkdir()
            shared.mkdir()
            shutil.copy(CONFTEST, tests)
            shutil.copy(COLLECTED, shared)
            path = tests / "test_of_now.py"
            path.write_text("import unittest\nfrom collected import module_only_if, only_if\n" + text)
            status, said, errors = support.python(
                "-m", "pytest", "-rs", "-p", "no:cacheprovider", *options, path, cwd=folder)
        return status, said + errors

    def test_a_file_of_another_runtime(self):
        status, said = self.run_pytest("module_only_if(False, 'needs Python 5')\n")
        self.assertEqual(status, 0, said)
        self.assertNotIn("skipped", said)

    def test_a_file_all_of_whose_cases_are_of_another_runtime(self):
        status, said = self.run_pytest(
            "class Some(unittest.TestCase):\n"
            "    @only_if(False)\n"
            "    def test_one(self): pass\n"
            "@only_if(False)\n"
            "class All(unittest.TestCase):\n"
            "    def test_two(self): pass\n")
        self.assertEqual(status, 0, said)
        self.assertNotIn("skipped", said)

    def test_a_file_without_cases_is_an_error(self):
        status, said = self.run_pytest("")
        self.assertEqual(status, 5, said)

    def test_a_choice_that_leaves_nothing_is_an_error(self):
        status, said = self.run_pytest(
            "class Some(unittest.TestCase):\n"
            "    @only_if(False)\n"
            "    def test_one(self): pass\n"
            "    def test_two(self): pass\n", "-k", "test_one")
        self.assertEqual(status, 5, said)

    def test_cases_that_are_left_to_another_run(self):
        text = "class Some(unittest.TestCase):\n    def test_one(self): pass\n"
        status, said = self.run_pytest(text, "-m", "timing")
        self.assertEqual(status, 0, said)
        status, said = self.run_pytest("", "-m", "timing")
        self.assertEqual(status, 5, said)

    def test_a_file_that_is_skipped_still_says_why(self):
        status, said = self.run_pytest("raise unittest.SkipTest('no such library')\n")
        self.assertEqual(status, 5, said)
        self.assertIn("no such library", said)

    def test_failures_are_failures(self):
        status, said = self.run_pytest(
            "class Some(unittest.TestCase):\n"
            "    @only_if(False)\n"
            "    def test_one(self): pass\n"
            "    def test_two(self): self.fail()\n")
        self.assertEqual(status, 1, said)
