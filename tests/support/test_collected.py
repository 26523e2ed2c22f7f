"""Tests that a false condition removes a method, a class or all cases of a file."""
import os
import tempfile
import textwrap
import unittest
from xml.etree import ElementTree

import collected
import processes
from collected import only_if

RUNNER = os.path.abspath("bazel/run_unittest.py")


def names(cls):
    return unittest.defaultTestLoader.getTestCaseNames(cls)


class OnlyIf(unittest.TestCase):
    def test_a_method(self):
        class Cases(unittest.TestCase):
            @only_if(True)
            def test_here(self):
                self.fail("only its name counts")

            @only_if(False)
            def test_elsewhere(self):
                self.fail("only its name counts")

        self.assertEqual(names(Cases), ["test_here"])
        self.assertTrue(collected.LEFT_OUT[__name__][-1].endswith("Cases.test_elsewhere"))

    def test_a_method_in_the_place_of_an_inherited_one(self):
        class Mixin:
            def test_this(self):
                self.fail("only its name counts")

            def test_that(self):
                self.fail("only its name counts")

        class Cases(Mixin, unittest.TestCase):
            @only_if(False)
            def test_this(self):
                self.fail("only its name counts")

        self.assertEqual(names(Cases), ["test_that"])

    def test_a_class(self):
        class Cases(unittest.TestCase):
            def test_it(self):
                self.fail("only its name counts")

        before = len(collected.LEFT_OUT.get(__name__, ()))
        self.assertIs(only_if(True)(Cases), Cases)
        self.assertEqual(len(collected.LEFT_OUT.get(__name__, ())), before)
        self.assertIsNone(only_if(False)(Cases))
        self.assertEqual(len(collected.LEFT_OUT[__name__]), before + 1)

    def test_what_is_no_case_is_not_counted(self):
        before = len(collected.LEFT_OUT.get(__name__, ()))
        self.assertIsNone(only_if(False)(type("Empty", (unittest.TestCase,), {})))
        self.assertIsNone(only_if(False)(lambda self: None))
        self.assertEqual(len(collected.LEFT_OUT.get(__name__, ())), before)


class Runner(unittest.TestCase):
    def run_file(self, text):
        """Runs the runner on a file with this text. Returns (status, names of the cases,
        output)."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "of_now.py"), "w", encoding="utf-8") as file:
                file.write("import unittest\n" + textwrap.dedent(text))
            xml = os.path.join(folder, "test.xml")
            path = [folder, os.path.dirname(os.path.abspath(collected.__file__))]
            ended = processes.python(RUNNER, file.name, paths=path, environment={"XML_OUTPUT_FILE": xml},
                                     check=False)
            cases = [case.get("name") for case in ElementTree.parse(xml).iter("testcase")]
        return ended.status, cases, ended.err

    def test_a_file_of_another_runtime(self):
        status, cases, said = self.run_file("""
            from collected import module_only_if
            module_only_if(False, "needs Python 5")
            """)
        self.assertEqual((status, cases), (0, []))
        self.assertIn("no cases here: needs Python 5", said)

    def test_a_file_all_of_whose_cases_are_of_another_runtime(self):
        status, cases, said = self.run_file("""
            from collected import module_only_if, only_if
            module_only_if(True, "")

            class Some(unittest.TestCase):
                @only_if(False)
                def test_one(self): pass

            @only_if(False)
            class All(unittest.TestCase):
                def test_two(self): pass
            """)
        self.assertEqual((status, cases), (0, []))
        self.assertIn("are for other interpreters", said)

    def test_a_file_without_cases_is_an_error(self):
        for text in ("", "from collected import only_if",
                     "import collected\n@collected.only_if(False)\nclass X(unittest.TestCase): pass"):
            with self.subTest(text):
                status, cases, said = self.run_file(text)
                self.assertEqual((status, cases), (1, []))
                self.assertIn("no test case in", said)

    def test_a_file_that_is_skipped_still_says_why(self):
        status, cases, said = self.run_file("raise unittest.SkipTest('no such library')")
        self.assertEqual((status, cases), (0, ["all"]))
        self.assertIn("skipped: no such library", said)

    def test_what_is_left_is_run(self):
        status, cases, _ = self.run_file("""
            from collected import only_if
            class Some(unittest.TestCase):
                @only_if(False)
                def test_one(self): pass
                def test_two(self): pass
            """)
        self.assertEqual((status, cases), (0, ["test_two"]))
