"""The gate's decisions: which failures run again, which skips are expected, what is cached for a tree and a
machine, and what a run prints and returns."""
import contextlib
import io
import json
import os
import select
import subprocess
import sys
import sysconfig
import tempfile
import time
import types
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import commands  # noqa: E402
import expected  # noqa: E402
import kept  # noqa: E402
import parts  # noqa: E402
import results  # noqa: E402
import run_tests  # noqa: E402
from results import FAILED, FLAKY, PASSED, SKIPPED, UNAVAILABLE, Case  # noqa: E402


def outcomes(cases):
    return [(case.name, case.outcome) for case in cases]


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
    """The events of one `bazel test`, as Bazel writes them."""

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
        # A failed script may have been unlucky.
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


class InAFolder(unittest.TestCase):
    """A separate repository with a separate cache."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = os.path.join(folder.name, "cache")
        self.tree = os.path.join(folder.name, "tree")
        os.makedirs(self.tree)
        self.enterContext(unittest.mock.patch.dict(
            os.environ, TYPEDCALL_DISK_CACHE=os.path.join(self.cache, "bazel"), TYPEDCALL_MACHINE="compiler 1"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.tree)
        for command in ("init -q", "config user.name a", "config user.email a@b", "commit -q --allow-empty -m a"):
            subprocess.run(["git", *command.split()], check=True)
        self.write("file", "one")

    def write(self, name, text):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def enterContext(self, manager):  # unittest has it since 3.11
        self.addCleanup(manager.__exit__, None, None, None)
        return manager.__enter__()


class Kept(InAFolder):
    def interpreter(self, state="CPython 1"):
        return types.SimpleNamespace(state=state, label="CPython", executable="python", reason="")

    def stored(self, *cases):
        store = kept.Kept([self.interpreter()])
        store.store(results.Run("a part", list(cases), 3))
        return kept.Kept([self.interpreter()]).load("a part")

    def test_what_has_passed(self):
        run = self.stored(Case("a b", PASSED), Case("a c", SKIPPED, "why"))
        self.assertEqual(outcomes(run.cases), [("a b", PASSED), ("a c", SKIPPED)])
        self.assertTrue(run.is_kept)

    def test_what_has_not(self):
        for outcome in (FAILED, FLAKY, UNAVAILABLE):
            with self.subTest(outcome=outcome):
                self.stored(Case("a b", PASSED))
                self.assertIsNone(self.stored(Case("a b", outcome)))
        self.assertIsNone(self.stored())

    def test_the_log_is_there_in_any_case(self):
        self.stored(Case("a b", FAILED, "why", "all of it"))
        with open(results.log_of(kept.Kept([self.interpreter()]).folder, "a part"), encoding="utf-8") as file:
            self.assertIn("all of it", file.read())

    def test_another_tree(self):
        self.assertIsNotNone(self.stored(Case("a b", PASSED)))
        self.write("file", "two")
        self.assertIsNone(kept.Kept([self.interpreter()]).load("a part"))
        self.write("file", "one")
        self.assertIsNotNone(kept.Kept([self.interpreter()]).load("a part"))
        self.write("new", "not committed, not ignored")
        self.assertIsNone(kept.Kept([self.interpreter()]).load("a part"))

    def test_another_tree_that_makes_no_difference(self):
        store = kept.Kept([self.interpreter()])
        store.store(results.Run("a part", [Case("a b", PASSED)], 3), ["fi*", "other"])
        load = lambda *ignores: kept.Kept([self.interpreter()]).load("a part", ignores)  # noqa: E731
        self.write("file", "two")
        self.assertIsNotNone(load("fi*", "other"))
        self.assertIsNone(load())
        self.write("new", "one")
        self.assertIsNone(load("fi*", "other"))

    def test_another_machine(self):
        self.assertIsNotNone(self.stored(Case("a b", PASSED)))
        self.assertIsNone(kept.Kept([self.interpreter("CPython 2")]).load("a part"))
        with unittest.mock.patch.dict(os.environ, TYPEDCALL_MACHINE="compiler 2"):
            self.assertIsNone(kept.Kept([self.interpreter()]).load("a part"))

    def test_without_git_nothing_is_kept(self):
        with unittest.mock.patch.object(kept, "tree", return_value=""):
            self.assertIsNone(self.stored(Case("a b", PASSED)))


class Ignored(unittest.TestCase):
    """Inputs that a part declares it does not depend on."""

    def test_headers_that_pypys_compiler_refuses(self):
        include = sysconfig.get_path("include")
        for header in [*parts.NOT_FOR_PYPY, "typedcall/provider.h"]:
            with self.subTest(header=header):
                self.assertTrue(os.path.exists(header))
                done = subprocess.run(
                    ["g++", "-std=c++17", "-E", "-x", "c++", "-DPYPY_VERSION=1", "-I.", "-I" + include, "-"],
                    input=f'#include "{header}"\n', stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                if header in parts.NOT_FOR_PYPY:
                    self.assertIn("#error \"typedcall: on PyPy there are providers only", done.stderr)
                else:
                    self.assertEqual(done.returncode, 0, done.stderr)


class OtherMachine(unittest.TestCase):
    """Inputs outside the tree that change results."""

    def test_an_interpreter_of_the_same_name(self):
        import interpreters

        with tempfile.NamedTemporaryFile("w") as library:
            info = dict(executable=sys.executable, version="3.11.7", implementation="CPython", include="x",
                        library=library.name, gil_disabled=False, debug=False)
            first = interpreters.Interpreter("a", info).state
            self.assertEqual(interpreters.Interpreter("b", info).state, first)
            library.write("another build")
            library.flush()
            self.assertNotEqual(interpreters.Interpreter("a", info).state, first)

    def test_a_compiler_and_a_library(self):
        described = self.described()
        self.assertEqual(self.described(), described)
        self.assertNotEqual(self.described(compiler="c++ 2"), described)
        self.assertNotEqual(self.described(packages="installed libgtest-dev 2"), described)
        self.assertNotEqual(self.described(packages="installed gcc-12 1\ninstalled libgtest-dev 1"), described)
        self.assertEqual(self.described(packages="installed libgtest-dev 1\ninstalled vim 2"), described)

    def described(self, compiler="c++ 1", packages="installed libgtest-dev 1"):
        """Returns what tools/setup writes for Bazel on a machine with this compiler and these Debian packages."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("c++", compiler), ("cc", "cc 1"), ("clang", "clang 1"), ("dpkg-query", packages)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\nprintf '%s\\n' '{text}'\n")
                os.chmod(path, 0o755)
            with open(os.path.join(ROOT, "tools", "setup"), encoding="utf-8") as file:
                functions = file.read()
            begin, end = functions.index("describe_machine() {"), functions.index("# from_pypi FOLDER")
            subprocess.run(["bash", "-euc", functions[begin:end] + "\nfor_bazel"], check=True, cwd=folder, env={
                "PATH": folder + ":" + os.environ["PATH"]})
            with open(os.path.join(folder, ".machine.bazelrc"), encoding="utf-8") as file:
                return file.read()


class Runs(InAFolder):
    """Runs of made-up parts."""

    def run_parts(self, *plan, is_kept=False, is_full=False, not_run=(), kind=""):
        """Returns (the output, the exit status)."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), \
                unittest.mock.patch.object(expected, "entries", return_value={"skip": [], "fail": []}):
            store, self.ran = kept.Kept([], kind), []
            runs = run_tests.run_all(plan, store, lambda part: is_kept)
            results.summary(runs, [], not_run, 1, store.folder)
        return printed.getvalue(), run_tests.status(runs, is_full)

    def part(self, name, *cases, lane="bazel"):
        def run():
            self.ran.append(name)
            return [Case(*case) for case in cases]

        return parts.Part(name, run, lane=lane)

    def test_all_green(self):
        printed, status = self.run_parts(self.part("one", ("a b", PASSED)),
                                         self.part("two", ("c d", PASSED), lane="package"))
        self.assertEqual(status, 0)
        self.assertEqual(printed.splitlines()[-1], "2 passed, 0 failed, 0 skipped")

    def test_red(self):
        printed, status = self.run_parts(self.part("one", ("a b", PASSED), ("a c", FAILED, "why", "the log")))
        self.assertEqual(status, 1)
        self.assertIn("the log", printed)
        self.assertIn("a c: why [one]", printed)
        self.assertEqual(printed.splitlines()[-1], "1 passed, 1 failed, 0 skipped")

    def test_flaky_is_green_and_a_line_at_the_end(self):
        printed, status = self.run_parts(self.part("one", ("a b", FLAKY, "why", "both logs")))
        self.assertEqual(status, 0)
        line, total = printed.splitlines()[-2:]
        self.assertRegex(line, r"^FLAKY a b \[one\]: both logs are in .*one\.log$")
        with open(line.split(" in ")[1], encoding="utf-8") as file:
            self.assertIn("both logs", file.read())
        self.assertEqual(total, "1 passed, 0 failed, 0 skipped")

    def test_unavailable_is_red_in_the_gate_and_counted_in_full(self):
        plan = self.part("one", ("a b", PASSED)), parts.missing("two", "no mirror: install one")
        for is_full, status in ((False, 1), (True, 0)):
            printed, ended = self.run_parts(*plan, is_full=is_full)
            self.assertEqual(ended, status)
            self.assertIn("no mirror: install one", printed)
            self.assertEqual(printed.splitlines()[-1], "1 passed, 0 failed, 0 skipped, 1 unavailable")

    def test_nothing_ran(self):
        self.assertEqual(self.run_parts(self.part("one"))[1], 1)

    def test_a_skip_that_nobody_expects(self):
        printed, status = self.run_parts(self.part("one", ("a b", PASSED), ("a c", SKIPPED, "no x")))
        self.assertEqual(status, 1)
        self.assertIn("does not expect: no x", printed)

    def test_what_is_left_out_is_the_last_line(self):
        printed, _ = self.run_parts(self.part("one", ("a b", PASSED)), not_run=["3.13t (tools/free_threaded)"])
        self.assertEqual(printed.splitlines()[-1], "Not run: 3.13t (tools/free_threaded)")

    def test_a_runner_that_fails(self):
        def fails():
            raise RuntimeError("no disk")

        printed, status = self.run_parts(parts.Part("one", fails))
        self.assertEqual(status, 1)
        self.assertIn("no disk", printed)

    def test_a_part_that_has_failed_runs_again(self):
        self.run_parts(self.part("one", ("a b", PASSED)), self.part("two", ("c d", FAILED)))
        again = self.part("one", ("a b", PASSED)), self.part("two", ("c d", PASSED)), self.part("three", ("e f", PASSED))
        printed, status = self.run_parts(*again, is_kept=True, is_full=True)
        self.assertEqual((self.ran, status), (["two", "three"], 0))
        self.assertIn("one: passed before, for the same tree", printed)
        self.assertEqual(printed.splitlines()[-1], "3 passed, 0 failed, 0 skipped")
        # The gate ignores earlier passes, and no run uses the results of another kind of run.
        self.run_parts(self.part("one", ("a b", PASSED)))
        self.assertEqual(self.ran, ["one"])
        self.run_parts(self.part("four", ("a b", PASSED)), kind="-other")
        self.run_parts(self.part("four", ("a b", PASSED)), is_kept=True)
        self.assertEqual(self.ran, ["four"])

    def test_a_command_leaves_no_process_behind(self):
        status, printed = commands.run("sh", "-c", "sleep 60 >&- 2>&- & echo $!")
        self.assertEqual(status, 0)
        self.ends(int(printed))

    def ends(self, child):
        """Waits: a signal may take a while to arrive."""
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(child)
            self.addCleanup(os.close, descriptor)
            self.assertTrue(select.select([descriptor], [], [], 30)[0], "the child goes on")

    def test_a_run_that_is_cut_is_taken_up(self):
        ready = os.path.join(self.cache, "ready")
        code = f"""
import sys
sys.path.insert(0, {os.path.join(ROOT, "tools")!r})
import commands, expected, kept, parts, run_tests
from results import Case
expected.entries = lambda: {{"skip": [], "fail": []}}
plan = [parts.Part("one", lambda: [Case("a b", "passed")]),
        parts.Part("two", lambda: commands.run("sh", "-c", "echo $$ >{ready}.new; mv {ready}.new {ready}; sleep 60"))]
run_tests.main = lambda: run_tests.run_all(plan, kept.Kept([]), lambda part: True)
run_tests.main_that_can_be_cut()
"""
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            while not os.path.exists(ready) and process.poll() is None:
                time.sleep(0.01)
            process.terminate()
            process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)
        with open(ready, encoding="utf-8") as file:
            child = int(file.read())
        self.ends(child)
        again = self.part("one", ("a b", PASSED)), self.part("two", ("c d", PASSED))
        self.run_parts(*again, is_kept=True, is_full=True)
        self.assertEqual(self.ran, ["two"])
