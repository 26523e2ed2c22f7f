"""Tests what the gate does with results."""
import json
import os
import tempfile
import unittest

from gate_support import ROOT, outcomes

import expected
import results
from results import FAILED, FLAKY, PASSED, SKIPPED, Case


class RunAgain(unittest.TestCase):
    def decided(self, case, *second):
        asked = []

        def again(case):
            asked.append(case.name)
            return list(second)

        results.run_again([case], again)
        return case, asked

    def test_green_the_second_time_is_flaky_and_has_both_logs(self):
        case, asked = self.decided(Case("t a.b", FAILED, "1 != 2", "first log", "t"), Case("t a.b", PASSED))
        self.assertEqual((case.outcome, asked), (FLAKY, ["t a.b"]))
        self.assertIn("first log", case.log)
        self.assertIn("again, alone", case.log)

    def test_red_twice_is_failed(self):
        case, _ = self.decided(Case("t a.b", FAILED, "1 != 2", "first", "t"),
                               Case("t a.b", FAILED, "1 != 3", "second"))
        self.assertEqual(case.outcome, FAILED)
        self.assertRegex(case.log, "(?s)first.*second")

    def test_a_case_that_does_not_run_again_is_failed(self):
        self.assertEqual(self.decided(Case("t a.b", FAILED, "", "", "t"))[0].outcome, FAILED)

    def test_the_rest_of_the_target_does_not_count(self):
        case, _ = self.decided(Case("t a.b", FAILED, "", "", "t"), Case("t a.c", PASSED))
        self.assertEqual(case.outcome, FAILED)

    def test_a_subtest_runs_again_with_its_case(self):
        case, _ = self.decided(Case("t a.b (n=1)", FAILED, "", "", "t"), Case("t a.b", PASSED))
        self.assertEqual(case.outcome, FLAKY)
        case, _ = self.decided(Case("t a.b (n=1)", FAILED, "", "", "t"), Case("t a.b", PASSED),
                               Case("t a.b (n=2)", FAILED))
        self.assertEqual(case.outcome, FAILED)

    def test_a_crash_the_second_time_is_failed(self):
        case, _ = self.decided(Case("t a.b", FAILED, "1 != 2", "", "t"), Case("t a.b", PASSED),
                               Case("t", FAILED, "signal 11", is_final=True))
        self.assertEqual(case.outcome, FAILED)

    def test_what_is_final_never_runs_again(self):
        for text in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "x.cc:1:2: runtime error: overflow",
                     "WARNING: ThreadSanitizer: data race", "ERROR: LeakSanitizer: detected memory leaks",
                     "leak: 5 blocks a round", "AssertionError: leak: 5 blocks", "the child ended by SIGSEGV",
                     "Fatal Python error: Aborted", "TIMEOUT: no log", "Timeout (>300.0s) from pytest-timeout",
                     "Command 'x' timed out after 3 seconds", "exited with error code 139", "exit status 134",
                     "-11 != 0", "['x'] has not ended after 600 s:", "Aborted (core dumped)"):
            with self.subTest(text=text):
                case, asked = self.decided(Case("t a.b", FAILED, text, "", "t"), Case("t a.b", PASSED))
                self.assertEqual((case.outcome, asked), (FAILED, []))

    def test_many_failures_are_no_coincidence(self):
        cases = [Case(f"t a.b{n}", FAILED, "", "", "t") for n in range(results.MOST_AGAIN + 1)]
        results.run_again(cases, lambda case: [Case(case.name, PASSED)])
        self.assertEqual({case.outcome for case in cases}, {FAILED})


class BazelEvents(unittest.TestCase):
    """Tests the events that Bazel writes for one `bazel test`."""

    def cases(self, *targets, exit_code=3):
        with tempfile.TemporaryDirectory() as folder:
            events = os.path.join(folder, "events.json")
            with open(events, "w", encoding="utf-8") as file:
                for label, status, xml, log in targets:
                    outputs = []
                    for name, text in (("test.xml", xml), ("test.log", log)):
                        path = os.path.join(folder, label.strip("/").replace(":", "_") + name)
                        with open(path, "w", encoding="utf-8") as output:
                            output.write(text)
                        outputs.append({"name": name, "uri": "file://" + path})
                    print(json.dumps({"id": {"testResult": {"label": label}},
                                      "testResult": {"status": status, "testActionOutput": outputs}}), file=file)
            return results.cases_of_events(events, exit_code)

    def test_a_case_that_fails_in_a_process_that_lives(self):
        good, bad = self.cases(("//a:b", "FAILED", """<testsuites><testsuite>
            <testcase classname="S" name="good"/><testcase classname="S" name="bad"><failure message="1 != 2">more
            </failure></testcase></testsuite></testsuites>""", "log"))
        self.assertEqual(outcomes([good, bad]), [("//a:b S.good", PASSED), ("//a:b S.bad", FAILED)])
        self.assertEqual((bad.target, bad.is_final, bad.message), ("//a:b", False, "1 != 2"))

    def test_a_process_that_dies(self):
        xml = """<testsuites><testsuite name="a/b"><testcase name="a/b" status="run">
            <error message="exited with error code %d"></error></testcase></testsuite></testsuites>"""
        (case,) = self.cases(("//a:b", "FAILED", xml % 139, "what it printed"))
        self.assertEqual((case.name, case.outcome, case.is_final), ("//a:b", FAILED, True))
        self.assertIn("what it printed", case.log)
        # A script may have failed by chance.
        (case,) = self.cases(("//a:b", "FAILED", xml % 1, "what it printed"))
        self.assertEqual((case.target, case.is_final), ("//a:b", False))

    def test_a_report_at_the_end_of_a_process(self):
        passed, case = self.cases(("//a:b", "FAILED", """<testsuites><testsuite>
            <testcase classname="S" name="good"/></testsuite></testsuites>""",
            "ERROR: LeakSanitizer: detected memory leaks"))
        self.assertEqual((passed.outcome, case.name, case.outcome, case.is_final), (PASSED, "//a:b", FAILED, True))

    def test_a_report_beside_a_failed_case(self):
        (case,) = self.cases(("//a:b", "FAILED", """<testsuites><testsuite><testcase classname="S" name="bad">
            <failure message="1 != 2"/></testcase></testsuite></testsuites>""", "x.cc:1:2: runtime error: overflow"))
        self.assertTrue(case.is_final)

    def test_a_time_limit(self):
        (case,) = self.cases(("//a:b", "TIMEOUT", "<testsuites/>", "log"))
        self.assertEqual((case.outcome, case.is_final), (FAILED, True))

    def test_a_run_without_a_word(self):
        self.assertEqual(outcomes(self.cases(exit_code=1)), [("bazel", FAILED)])

    def test_bazel_that_ends_in_the_middle(self):
        bad = ("//a:b", "FAILED", """<testsuites><testsuite><testcase classname="S" name="bad">
            <failure message="1 != 2"/></testcase></testsuite></testsuites>""", "log")
        self.assertEqual(outcomes(self.cases(bad)), [("//a:b S.bad", FAILED)])
        for code in (1, 8, 37, None):
            with self.subTest(code=code):
                self.assertEqual(outcomes(self.cases(bad, exit_code=code)),
                                 [("//a:b S.bad", FAILED), ("bazel", FAILED)])

    def test_nothing_to_do(self):
        self.assertEqual(self.cases(exit_code=results.NO_TESTS), [])


class JUnit(unittest.TestCase):
    def test_a_file_that_pytest_skips_says_why(self):
        for text in ("('a.py', 2, \"unittest.case.SkipTest: x is not installed (No module named 'x')\")",
                     "('a.py', 2, 'Skipped: x is not installed (why)')"):
            with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
                file.write('<testsuites><testsuite><testcase classname="" name="test_a">'
                           f'<skipped message="collection skipped">{text}</skipped></testcase>'
                           "</testsuite></testsuites>")
                file.flush()
                (case,) = results.cases_of_xml(file.name, "package:test_a")
            self.assertEqual((case.name, case.outcome), ("package:test_a test_a", SKIPPED))
            self.assertRegex(case.message, r"^x is not installed \((No module named 'x'|why)\)$")


class Expected(unittest.TestCase):
    LISTED = {"skip": [{"case": "a *", "part": "CPython*", "reason": "no gold here"},
                       {"case": "*", "part": "bare", "reason": "no libraries", "says": "* is not installed*"}],
              "fail": [{"case": "b c.d", "part": "*", "reason": "the engine mends it"}]}

    def decided(self, part, *cases):
        expected.apply(part, cases, self.LISTED)
        return [(case.outcome, case.is_final) for case in cases]

    def test_a_skip_that_is_listed(self):
        self.assertEqual(self.decided("CPython 3.11", Case("a b.c", SKIPPED, "no gold")), [(SKIPPED, False)])

    def test_what_it_says(self):
        self.assertEqual(self.decided("bare", Case("x y.z", SKIPPED, "NumPy is not installed (why)")),
                         [(SKIPPED, False)])
        self.assertEqual(self.decided("bare", Case("x y.z", SKIPPED, "no compiler")), [(FAILED, True)])

    def test_any_other_skip_is_a_failure(self):
        self.assertEqual(self.decided("PyPy", Case("a b.c", SKIPPED, "no gold"), Case("x y.z", SKIPPED, "no x")),
                         [(FAILED, True)] * 2)

    def test_an_expected_failure(self):
        self.assertEqual(self.decided("PyPy", Case("b c.d", FAILED, "1 != 2")), [(SKIPPED, False)])

    def test_an_expected_failure_is_not_run_again(self):
        for name, is_expected in (("b c.d", True), ("b c.e", False), ("a b.c", False)):
            self.assertEqual(expected.is_expected(Case(name, FAILED, "1 != 2"), self.LISTED), is_expected)

    def test_an_expected_failure_that_passes(self):
        self.assertEqual(self.decided("PyPy", Case("b c.d", PASSED)), [(FAILED, True)])

    def test_an_expected_failure_that_crashes(self):
        self.assertEqual(self.decided("PyPy", Case("b c.d", FAILED, "SIGSEGV")), [(FAILED, True)])

    def test_the_file_is_well_formed(self):
        listed = expected.entries(os.path.join(ROOT, expected.PATH))
        self.assertLess(len(listed["skip"]), 40, "the list of a run has to fit on a screen")
        for text in ("[[pass]]\ncase = 'a'\n", "[[skip]]\ncase = 'a'\n", "[[skip]]\ncase=1\npart='a'\nreason='b'\n"):
            with self.subTest(text=text), tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                file.write(text)
                file.flush()
                self.assertRaises(ValueError, expected.entries, file.name)
