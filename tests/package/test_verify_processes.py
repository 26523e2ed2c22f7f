"""Tests the command `verify` with modules that change streams or the state of the process."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import support
from command_line import MODULES, CommandLine

TAG = "import atexit, os, sys, plain_functions as plain, typedcall\n"
HALF = "half = plain.half\ntypedcall.tag(half, 'd->d', plain.addresses['half'])\n"


class Streams(CommandLine):
    def shell(self, redirections, *arguments):
        """Runs the command with these redirections, and returns the status, stdout and stderr."""
        script = 'exec "$@" ' + redirections
        return support.processes.run(["sh", "-c", script, "sh", sys.executable, "-m", "typedcall", *arguments],
                                     check=False, cwd=self.folder, paths=[*MODULES, self.folder])

    def test_closed_streams(self):
        self.module("tagged", TAG + HALF)
        self.module("differs", TAG + HALF.replace("'half'", "'half_differs'"))
        for redirections in (">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"):
            for module, status in (("tagged", 0), ("differs", 1)):
                for options in ((), ("--json",), ("--in-process",)):
                    with self.subTest(redirections=redirections, module=module, options=options):
                        ended, output, errors = self.shell(redirections, "verify", module, "--count", "20",
                                                           *options)
                        self.assertEqual((ended, errors), (status, ""))
                        self.assertEqual(output == "", ">&-" in redirections.replace("2>&-", ""))
        for redirections in (">&-", "2>&-"):
            self.assertEqual(self.shell(redirections, "show", "nonsense")[0], 2)
            self.assertEqual(self.shell(redirections, "show", "tagged")[0], 0)

    def test_streams_that_take_nothing(self):
        self.module("tagged", TAG + HALF)
        ended, _, errors = self.shell("> /dev/full", "verify", "tagged", "--count", "20")
        self.assertEqual((ended, errors), (2, "typedcall: [Errno 28] No space left on device\n"))
        self.assertEqual(self.shell("2> /dev/full", "verify", "tagged", "--count", "20")[0], 0)
        self.assertEqual(self.shell("2> /dev/full", "verify", "nonsense")[0], 2)

    def test_a_module_that_closes_them(self):
        for line in ("sys.stdout.close()", "os.close(1)", "sys.stdout = None"):
            self.module("tagged", TAG + HALF + line)
            with self.subTest(line=line):
                report = self.json("verify", "tagged", "--count", "20")
                self.assertEqual(report["results"][0]["equal"], 20)

    def test_what_a_module_prints_is_not_in_the_report(self):
        self.module("tagged", TAG + HALF + "print('imported')\nos.write(1, b'by C')\n"
                    "atexit.register(print, 'at its end')\n")
        for command in (("show",), ("verify", "--count", "20")):
            ended, output, errors = self.run_it(command[0], "tagged", "--json", *command[1:])
            self.assertEqual(ended, 0, errors)
            self.assertEqual(json.loads(output)["target"], "tagged")
            for said in ("imported", "by C", "at its end"):
                self.assertIn(said, errors)
        ended, output, errors = self.run_it("bench", "tagged:half", "--json", "--rounds", "1",
                                            "--milliseconds", "1")
        self.assertEqual((ended, json.loads(output)["signature"]), (0, "d->d"), errors)


class Ends(CommandLine):
    def test_a_module_that_ends_the_process(self):
        for line, said in (("os._exit(0)", "ended its process with exit code 0"),
                           ("os._exit(1)", "ended its process with exit code 1"),
                           ("os.kill(os.getpid(), 9)", "died of SIGKILL"),
                           ("sys.exit(0)", "SystemExit: 0")):
            self.module("tagged", TAG + HALF + line)
            with self.subTest(line=line):
                self.assertIn(said, self.error("verify", "tagged"))

    def test_an_error_of_its_own_is_no_difference(self):
        self.module("tagged", TAG + HALF + "import typedcall.cli.verify as verify\n"
                    "def fails(*arguments): raise ZeroDivisionError\nverify._print = fails\n")
        status, _, errors = self.run_it("verify", "tagged", "--count", "20")
        self.assertEqual(status, 2)
        self.assertIn("ZeroDivisionError", errors)

    @support.ON_CPYTHON  # PyPy cannot tag a wrong address like this
    def test_what_the_boxed_call_did_where_the_other_one_died(self):
        self.module("tagged", "import ctypes, typedcall\ndef f(x):\n    if x > 2: raise ValueError('large')\n"
                    "    return x\ndata = (ctypes.c_char * 64)()\n"
                    "typedcall.tag(f, 'd->d', ctypes.addressof(data))")
        report = self.json("verify", "tagged", "--arguments", "1.5", "--arguments", "3.0", status=3)
        examples = report["results"][0]["examples"]
        self.assertEqual([example[:2] for example in examples],
                         [["(1.5,)", "1.5"], ["(3.0,)", "raises ValueError: large"]])

    @support.ON_CPYTHON  # PyPy cannot tag a callback that needs the GIL like this
    def test_nothing_outlives_it(self):
        # The unboxed call writes the process ID to a file and then loops forever.
        self.module("tagged", """
            import ctypes, os, pathlib, typedcall
            def f(x): return x
            def spin(x):
                pathlib.Path('half').write_text(str(os.getpid()))
                os.replace('half', 'child')
                while True: pass
            __spins = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double)(spin)
            flags = typedcall.Flags.NEEDS_THREAD
            typedcall.tag(f, 'd->d', __spins, flags=flags)
            """)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT):
            with self.subTest(number=number):
                child = self.folder / "child"
                child.unlink(missing_ok=True)
                running = support.processes.start(
                    self.addCleanup, [sys.executable, "-m", "typedcall", "verify", "tagged"], cwd=self.folder,
                    paths=[*MODULES, self.folder])
                self.assertTrue(eventually(child.exists))
                pid = int(child.read_text())
                os.kill(running.pid, number)
                self.assertEqual(running.wait(60), 130 if number == signal.SIGINT else -number)
                ended = eventually(lambda: not is_running(pid))
                if not ended:
                    os.kill(pid, signal.SIGKILL)
                self.assertTrue(ended)

    def test_an_interrupt_ends_it_while_c_runs(self):
        # As if the C functions ignored the signal, only the parent gets it.
        self.module("imported", "import ctypes, pathlib\npathlib.Path('child').write_text('')\nctypes.CDLL(None).sleep(1000)\n")
        self.module("called", """
            import ctypes, pathlib, typedcall
            def f(x):
                pathlib.Path('child').write_text('')
                return 0
            typedcall.tag(f, 'I->I', ctypes.CDLL(None).sleep, flags=typedcall.Flags.THREAD_SAFE)
            """)
        child = self.folder / "child"
        for arguments in (["imported"], ["called", "--arguments", "1000"]):
            with self.subTest(arguments):
                child.unlink(missing_ok=True)
                running = support.processes.start(
                    self.addCleanup, [sys.executable, "-m", "typedcall", "verify", *arguments], cwd=self.folder,
                    paths=[*MODULES, self.folder])
                self.assertTrue(eventually(child.exists))
                os.kill(running.pid, signal.SIGINT)
                self.assertEqual(running.wait(60), 130)

    @support.timing
    @support.ON_CPYTHON
    def test_at_its_limit_it_ends_by_itself(self):
        # The stopped parent cannot end the process.
        self.module("tagged", """
            import ctypes, os, pathlib, signal, typedcall
            def f(x): return x
            def spin(x):
                os.kill(os.getppid(), signal.SIGSTOP)
                pathlib.Path('half').write_text(str(os.getpid()))
                os.replace('half', 'child')
                while True: pass
            __spins = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double)(spin)
            typedcall.tag(f, 'd->d', __spins, flags=typedcall.Flags.NEEDS_THREAD)
            """)
        child = self.folder / "child"
        running = support.processes.start(
            self.addCleanup, [sys.executable, "-m", "typedcall", "verify", "tagged", "--time-limit", "1", "--json"],
            cwd=self.folder, stdout=subprocess.PIPE, paths=[*MODULES, self.folder])
        self.assertTrue(eventually(child.exists))
        pid = int(child.read_text())
        ended = eventually(lambda: not is_running(pid))
        if not ended:
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(ended)
        running.send_signal(signal.SIGCONT)
        verdict, = json.loads(running.stdout.read())["results"]
        self.assertEqual((running.wait(60), verdict["unexplained"]), (1, 1))
        self.assertRegex(verdict["stopped"], "^did not end within 1 s in its unboxed call")


def is_running(pid):
    """Returns true if the process is running. Returns false for a zombie."""
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(condition):
    """Returns true if the condition becomes true within two minutes."""
    for _ in range(12000):
        if condition():
            return True
        time.sleep(0.01)
    return False
