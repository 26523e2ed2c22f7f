"""Tests the output and status of separate processes."""
import os
import tempfile
import unittest

import processes


class Processes(unittest.TestCase):
    def test_output_and_errors(self):
        code ="""
            import sys
            print("out")
            print("err", file=sys.stderr)
            """
        self.assertEqual(processes.python(code=code), (0, "out\n", "err\n"))
        ended = processes.python("-u", code=code, together=True)
        self.assertEqual((ended.out, ended.err), ("out\nerr\n", ""))

    def test_arguments_and_input(self):
        ended = processes.python("-c", "import sys; print(sys.argv[1:], input())", 1, "two", input="three")
        self.assertEqual(ended.out, "['1', 'two'] three\n")
        self.assertEqual(processes.run(["sh", "-c", "echo $0", 5]).out, "5\n")

    def test_a_status(self):
        with self.assertRaisesRegex(AssertionError, r"(?s)ended with 3:\nsaid before\n"):
            processes.python(code="print('said before'); raise SystemExit(3)")
        ended = processes.python(code="raise SystemExit(3)", check=False)
        self.assertEqual(ended, (3, "", ""))

    def test_a_crash_is_named(self):
        code = "import os, signal, sys; print('said before'); sys.stdout.flush(); os.kill(os.getpid(), signal.%s)"
        for name in ("SIGSEGV", "SIGKILL", "SIGABRT"):
            with self.assertRaisesRegex(AssertionError, r"(?s)ended with -\d+ \(%s\):\nsaid before" % name):
                processes.python(code=code % name, environment=processes.UNSANITIZED)
            status = processes.python(code=code % name, environment=processes.UNSANITIZED, check=False).status
            self.assertLess(status, 0)
            with self.assertRaisesRegex(AssertionError, name):
                self.assertEqual(status, 0)
            with self.assertRaisesRegex(AssertionError, name):
                self.assertEqual((status, ""), (0, ""))
        self.assertEqual([str(processes.Status(each)) for each in (0, 7)], ["0", "7"])

    def test_what_hangs(self):
        with self.assertRaisesRegex(processes.Hung, r"(?s)has not ended after 5 s:\nsaid before") as caught:
            processes.python("-u", code="print('said before')\nwhile True: pass", timeout=5)
        self.assertEqual(caught.exception.out, "said before\n")
        self.assertIsInstance(caught.exception, AssertionError)

    def test_the_environment(self):
        code = "import os; print(os.environ.get('OF_THE_TEST'), os.environ.get('MORE'))"
        os.environ["OF_THE_TEST"] = "here"
        self.addCleanup(os.environ.pop, "OF_THE_TEST")
        self.assertEqual(processes.python(code=code).out, "here None\n")
        self.assertEqual(processes.python(code=code, environment={"MORE": "5"}).out, "here 5\n")
        self.assertEqual(processes.python(code=code, environment={"OF_THE_TEST": None}).out, "None None\n")

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "beside.py"), "w", encoding="utf-8") as file:
                file.write("value = 5\n")
            code = "import beside, os; print(beside.value, os.path.samefile(os.getcwd(), %r))" % folder
            self.assertEqual(processes.python(code=code, paths=[folder], cwd=folder).out, "5 True\n")
            # The paths replace PYTHONPATH.
            self.assertIn("No module named 'processes'",
                          processes.python(code="import processes", paths=[folder], check=False).err)
