"""Tests runs of the gate."""
import contextlib
import io
import os
import select
import subprocess
import sys
import time
import unittest.mock

from gate_support import ROOT, InAFolder

import commands
import expected
import kept
import parts
import processes
import results
import run_tests
from results import FAILED, FLAKY, PASSED, SKIPPED, Case


class Runs(InAFolder):
    """Tests runs of made-up parts."""

    def run_parts(self, *plan, is_kept=False, is_full=False, not_run=(), kind=""):
        """Runs made-up parts. Returns (output, exit status)."""
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
        # A run does not use the results of another kind of run.
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
        """Waits until the process has ended."""
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
        process = processes.start(self.addCleanup, [sys.executable, "-c", code], stdout=subprocess.PIPE)
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
