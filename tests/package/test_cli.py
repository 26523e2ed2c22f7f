"""The command line: what each command prints, as a table and as JSON, and errors in one line."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support
import typedcall

MODULES = [support.module_folder("typed_functions"), support.module_folder("plain_functions")]
try:
    import rich
except ImportError:
    rich = None


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_it(self, *arguments):
        return support.python("-m", "typedcall", *arguments, paths=[*MODULES, self.folder],
                              cwd=self.folder)

    def output(self, *arguments, status=0):
        ended, output, errors = self.run_it(*arguments)
        self.assertEqual((ended, errors), (status, ""), output)
        return output

    def json(self, *arguments, status=0):
        return json.loads(self.output(*arguments, "--json", status=status))

    def error(self, *arguments):
        """The one line of an error."""
        status, output, errors = self.run_it(*arguments)
        self.assertEqual((status, output), (2, ""))
        self.assertRegex(errors, r"\Atypedcall: [^\n]+\n\Z")
        return errors

    def module(self, name, source):
        pathlib.Path(self.folder, name + ".py").write_text(textwrap.dedent(source))


class Paths(CommandLine):
    def test_where_things_are(self):
        self.assertIn("-I" + typedcall.get_include(), self.output("--includes").split())
        self.assertTrue(pathlib.Path(self.output("--cmakedir").strip(),
                                     "typedcallConfig.cmake").is_file())
        self.assertTrue(pathlib.Path(self.output("--pkgconfigdir").strip(),
                                     "typedcall.pc").is_file())
        self.assertEqual(self.output("--version"), typedcall.__version__ + "\n")

    def test_rich_is_not_needed_for_them_nor_for_json(self):
        self.module("rich", "raise ImportError('no rich here')")
        self.output("--includes")
        self.json("show", "typed_functions")

    def test_the_installed_script(self):
        script = pathlib.Path(sys.executable).with_name("typedcall")
        if not script.exists():
            self.skipTest("the scripts are not beside the interpreter")
        made = support.run([script, "--version"])
        self.assertEqual(made, typedcall.__version__ + "\n")


class Show(CommandLine):
    def test_a_module(self):
        rows = self.json("show", "typed_functions")["entries"]
        by_name = {}
        for row in rows:
            by_name.setdefault(row["name"], []).append(row["signature"])
        self.assertEqual(by_name["inc"], ["l->l"])
        self.assertEqual(by_name["absolute"], ["l->l", "d->d"])
        self.assertEqual(by_name["Scaler.scale"], ["d->d"])
        inc, = [row for row in rows if row["name"] == "inc"]
        self.assertEqual((inc["flags"], inc["needs_nothing"]),
                         (["THREAD_SAFE", "PURE", "SHORT"], True))
        div, = [row for row in rows if row["name"] == "div"]
        self.assertEqual((div["flags"], div["needs_nothing"]),
                         (["NEEDS_THREAD", "MAY_RAISE"], False))

    def test_a_name(self):
        rows = self.json("show", "typed_functions:Scaler.scale")["entries"]
        self.assertEqual([row["name"] for row in rows], ["Scaler.scale"])

    def test_the_table(self):
        text = self.output("show", "typed_functions:mix")
        for word in ("mix", "dldl->d", "PURE", "0x"):
            self.assertIn(word, text)

    @unittest.skipIf(rich is None, "rich is not installed")
    def test_without_rich_the_tables_say_the_same(self):
        commands = [("show", "typed_functions"), ("doctor",),
                    ("verify", "typed_functions:absolute", "--count", "500")]
        with_rich = [self.output(*command) for command in commands]
        self.module("rich", "raise ImportError('no rich here')")
        for command, drawn in zip(commands, with_rich):
            plain = self.output(*command)
            self.assertTrue(plain.isascii(), plain)
            self.assertEqual(*(self.words(text) for text in (drawn, plain)), command)

    @staticmethod
    def words(table):
        """Without lines, and addresses, which differ."""
        return [re.sub("0x[0-9a-f]+", "0x", word) for word in table.split()
                if word.isascii() and set(word) != {"-"}]

    def test_a_plain_table(self):
        self.module("rich", "raise ImportError('no rich here')")
        lines = self.output("show", "typed_functions:absolute").splitlines()
        self.assertEqual(lines[0], "typed_functions:absolute")
        self.assertRegex(lines[1], r"\Aname +signature +flags +address +place\Z")
        self.assertRegex(lines[2], r"\A(-+  ){4}-+\Z")
        at = lines[1].index("signature")
        self.assertEqual([line[at:].split()[0] for line in lines[3:]], ["l->l", "d->d"])

    def test_a_closed_pipe_is_no_traceback(self):
        command = "%s -m typedcall show typed_functions --json" % sys.executable
        environment = dict(os.environ, PYTHONPATH=MODULES[0])
        ended = subprocess.run(["sh", "-c", command + " | true"], stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, env=environment, check=False)
        self.assertNotIn(b"Traceback", ended.stderr)


class Errors(CommandLine):
    def test_targets(self):
        self.assertIn("cannot import 'nonsense': ModuleNotFoundError",
                      self.error("show", "nonsense"))
        self.assertIn("'typed_functions' has no 'nonsense'",
                      self.error("show", "typed_functions:nonsense"))
        self.assertIn("has no 'Scaler.x'", self.error("show", "typed_functions:Scaler.x"))
        self.assertIn("no function in 'json' offers", self.error("show", "json"))
        self.assertIn("plain_functions:half offers no native signature",
                      self.error("show", "plain_functions:half"))
        self.assertIn("not MODULE:NAME", self.error("show", "typed_functions:"))
        self.assertIn("not MODULE:NAME", self.error("bench", "typed_functions"))
        self.assertIn("not MODULE:NAME", self.error("show", ""))

    def test_a_module_that_fails(self):
        self.module("failing", "raise ValueError('two\\nlines')")
        self.assertIn("cannot import 'failing': ValueError: two lines",
                      self.error("show", "failing"))
        self.module("leaving", "import sys; sys.exit('bye')")
        self.assertIn("cannot import 'leaving': SystemExit: bye", self.error("verify", "leaving"))

    def test_what_functions_and_properties_raise(self):
        self.module("raising", "import sys, typedcall\nimport plain_functions as plain\n"
                    "class P:\n    @property\n    def boom(self): raise ValueError('no')\n"
                    "p = P()\ndef leaves(x): sys.exit(3)\n"
                    "typedcall.tag(leaves, 'd->d', plain.addresses['half'])\n")
        self.assertIn("cannot get 'raising:p.boom': ValueError: no",
                      self.error("show", "raising:p.boom"))
        self.assertIn("SystemExit: 3", self.error("bench", "raising:leaves"))
        report = self.json("verify", "raising:leaves", "--count", "20", status=1)
        self.assertGreater(report["verdicts"][0]["unexplained"], 0)

    def test_arguments(self):
        self.assertIn("say what to do", self.error())
        self.assertIn("invalid choice: 'nonsense'", self.error("nonsense"))
        self.assertIn("invalid", self.error("verify", "typed_functions", "--count", "many"))
        self.assertIn("at least 1", self.error("verify", "typed_functions", "--count", "0"))
        self.assertIn("are required: MODULE[:NAME]", self.error("show"))
        self.assertIn("does not offer 'l->l'; it offers 'd->d'",
                      self.error("bench", "typed_functions:half", "--signature", "l->l"))
        self.assertIn("are no Python literals",
                      self.error("bench", "typed_functions:half", "--arguments", "1 +"))
        self.assertIn("give others by --arguments",
                      self.error("bench", "typed_functions:div", "--arguments", "1.0, 0.0"))
        self.assertIn("takes a pointer", self.error("bench", "typed_functions:sum_of"))


class Arguments(unittest.TestCase):
    def test_there_are_some_of_every_code(self):
        from typedcall._codes import CODES
        from typedcall.cli.arguments import ArgumentMaker, why_not
        for letters in CODES:
            if letters != "v" and why_not([letters]) is None:
                with self.subTest(letters):
                    self.assertEqual(len(list(ArgumentMaker([letters], 1, False).all(100))), 100)

    def test_a_kind_that_it_does_not_know(self):
        from typedcall._codes import CODES
        from typedcall.cli.arguments import ArgumentMaker
        maker = ArgumentMaker(["O"], 1, True)
        maker._codes = [CODES["O"]._replace(letters="e", kind="mask")]
        with self.assertRaisesRegex(ValueError, "'e', of kind mask"):
            list(maker.all(10))


class Verify(CommandLine):
    def test_a_module_without_differences(self):
        verdicts = self.json("verify", "typed_functions", "--count", "300")["verdicts"]
        called = [verdict for verdict in verdicts if not verdict["skipped"]]
        self.assertGreater(len(called), 10)
        for verdict in called:
            self.assertEqual((verdict["calls"], verdict["equal"]), (300, 300), verdict)
        skipped = {verdict["name"]: verdict["skipped"] for verdict in verdicts}
        self.assertIn("needs an instance", skipped["Scaler.scale"])

    @unittest.skipIf(support.IS_PYPY, "calls with pointers are CPython's")
    def test_pointers_are_skipped_and_results_by_pointer_are_not(self):
        verdicts = {verdict["name"]: verdict for verdict in self.json(
            "verify", "typed_functions", "--count", "100")["verdicts"]}
        self.assertIn("takes a pointer ('&d')", verdicts["sum_of"]["skipped"])
        self.assertEqual(verdicts["invert"]["equal"], 100)

    # --- Modules with a wrong tag ------------------------------------------------------------

    def tagged(self, *lines):
        self.module("tagged", "import ctypes\nimport plain_functions as plain\nimport typedcall\n"
                    + "\n".join(lines))

    def differences(self, status, *arguments):
        report = self.json("verify", "tagged", "--count", "400", *arguments, status=status)
        verdict, = report["verdicts"]
        return verdict

    def test_another_result(self):
        self.tagged("half = plain.half",
                    "typedcall.tag(half, 'd->d', plain.addresses['half_differs'])")
        verdict = self.differences(1)
        self.assertGreater(verdict["unexplained"], 250)
        self.assertEqual(len(verdict["examples"]), 5)
        self.assertEqual(verdict["examples"][0][3], "")
        self.assertIn("NONE", self.output("verify", "tagged", status=1))

    def test_what_differs_by_declaration(self):
        self.tagged("half = plain.half", "typedcall.tag(half, 'd->d', "
                    "plain.addresses['half_differs'], flags=typedcall.Flags.DIFFERS)")
        verdict = self.differences(0)
        self.assertEqual(verdict["unexplained"], 0)
        self.assertGreater(verdict["declared"], 250)
        self.assertEqual(verdict["examples"][0][3], "declared (DIFFERS)")

    def wrapped(self, body, signature="d->d", address="plain.addresses['half']"):
        self.tagged("import itertools, math", "def f(x):", *("    " + line for line in body),
                    "typedcall.tag(f, %r, %s)" % (signature, address))
        return self.differences

    def test_the_sign_of_a_zero(self):
        verdict = self.wrapped(["return plain.half(x) + 0.0"])(1)
        self.assertGreater(verdict["unexplained"], 0)
        self.assertEqual({example[2] for example in verdict["examples"]}, {"-0.0"})

    def test_a_nan(self):
        verdict = self.wrapped(["y = plain.half(x)", "return 0.0 if math.isnan(y) else y"])(1)
        self.assertEqual({example[2] for example in verdict["examples"]}, {"nan"})

    def test_the_type_of_the_result(self):
        verdict = self.wrapped(["y = plain.half(x)", "return int(y) if y == 1 else y"])(1)
        self.assertEqual({example[1:3] == ["1", "1.0"] for example in verdict["examples"]}, {True})

    def test_an_int_that_does_not_fit(self):
        verdict = self.wrapped(["return plain.inc(x)"], "l->l", "plain.addresses['inc']")(0)
        self.assertEqual(verdict["equal"], 400)
        verdict = self.wrapped(["return x + 1 if isinstance(x, int) and x >= 2**63 - 1 else "
                                "plain.inc(x)"], "l->l", "plain.addresses['inc']")(1)
        shown = {example[2].split(":")[0] for example in verdict["examples"]}
        self.assertLessEqual(shown, {"raises OverflowError", "-9223372036854775808"})
        self.assertEqual(len(shown), 2)

    def test_a_type_that_the_wrapper_takes(self):
        verdict = self.wrapped(["return 1.0 if x is None else plain.half(x)"])(1)
        self.assertIn("raises TypeError", verdict["examples"][0][2])

    def test_a_function_that_does_not_repeat_itself(self):
        self.tagged("import itertools", "counter = itertools.count()", "def f(x):",
                    "    return plain.half(x) + next(counter)",
                    "typedcall.tag(f, 'd->d', plain.addresses['half'])")
        verdict = self.differences(1)
        self.assertIn("the boxed call does not repeat itself", verdict["explained"])

    @unittest.skipIf(support.IS_PYPY, "a wrong address cannot be tagged so on PyPy")
    def test_isolated_functions_take_only_themselves_along(self):
        self.tagged(
            "import os, signal, threading, time",
            "half = plain.half", "typedcall.tag(half, 'd->d', plain.addresses['half'])",
            "def dies(x): os.kill(os.getpid(), signal.SIGABRT)",
            "def hangs(x): time.sleep(100)",
            "def leaves(x): os._exit(3)",
            "def lingers(x):",
            "    threading.Thread(target=time.sleep, args=(100,)).start()",
            "    return x / 2",
            "def crashes(x): return x",
            # The address of data: calling it is a crash of the unboxed call.
            "data = (ctypes.c_char * 64)()",
            "for f in (dies, hangs, leaves, lingers):",
            "    typedcall.tag(f, 'd->d', plain.addresses['half'])",
            "typedcall.tag(crashes, 'd->d', ctypes.addressof(data))")
        report = self.json("verify", "tagged", "--count", "50", "--isolate", "--time-limit", "2",
                           status=1)
        verdicts = {verdict["name"]: verdict for verdict in report["verdicts"]}
        self.assertEqual(verdicts["half"]["equal"], 50)
        self.assertRegex(verdicts["dies"]["skipped"], "^died of SIGABRT in its boxed call with ")
        self.assertRegex(verdicts["hangs"]["skipped"], "^did not end within 2 s in its boxed call")
        self.assertRegex(verdicts["leaves"]["skipped"],
                         "^ended its process with exit code 3 in its boxed call")
        self.assertGreater(verdicts["lingers"]["calls"], 0)
        self.assertEqual(verdicts["crashes"]["unexplained"], 1)
        self.assertRegex(verdicts["crashes"]["examples"][0][2], "^died of SIG")

    def test_the_largest_number(self):
        # It would not end with an int of 64 bits.
        body = ["for i in range(abs(x) if type(x) is int and abs(x) < 2**63 else 0): pass",
                "return plain.inc(x)"]
        self.wrapped(body, "l->l", "plain.addresses['inc']")
        verdict = self.differences(0, "--largest", "50")
        self.assertEqual(verdict["equal"], 400)

    def test_overloads(self):
        # Python prefers the int overload; that is no difference of the other one.
        self.tagged("def f(x):", "    return plain.half(x)",
                    "typedcall.tag(f, ('d->d', 'd->l'), "
                    "(plain.addresses['half'], plain.addresses['half']))")
        report = self.json("verify", "tagged", "--count", "200")
        other = report["verdicts"][1]
        self.assertEqual(other["unexplained"], 0)
        self.assertIn("Python chooses the overload 'd->d'", other["explained"])

    @unittest.skipIf(rich is None, "rich is not installed")
    def test_long_work_shows_how_far_it_is_on_a_terminal(self):
        import pty

        terminal, its_end = pty.openpty()
        paths = os.pathsep.join([*MODULES, self.folder])
        ended = subprocess.run(
            [sys.executable, "-m", "typedcall", "verify", "typed_functions:half", "--count", "3000"],
            cwd=self.folder, env=dict(os.environ, PYTHONPATH=paths, TERM="xterm", COLUMNS="80"),
            stdout=subprocess.PIPE, stderr=its_end, check=False)
        os.close(its_end)
        shown = b""
        try:
            while True:
                shown += os.read(terminal, 4096)
        except OSError:  # the end, on Linux
            os.close(terminal)
        self.assertEqual(ended.returncode, 0, shown)
        self.assertIn(b"verifying", shown)
        self.assertNotIn(b"verifying", ended.stdout)

    def test_the_seed_decides(self):
        self.tagged("half = plain.half",
                    "typedcall.tag(half, 'd->d', plain.addresses['half_differs'])")
        first, again, other = (self.output("verify", "tagged", "--json", "--seed", seed, status=1)
                               for seed in ("1", "1", "2"))
        self.assertEqual(first, again)
        self.assertNotEqual(json.loads(first)["seed"], json.loads(other)["seed"])

    def test_nothing_verified_is_an_error(self):
        status, _, errors = self.run_it("verify", "typed_functions:Scaler.scale", "--json")
        self.assertEqual(status, 2)
        self.assertRegex(errors, r"\Atypedcall: nothing was verified: it needs an instance.*\n\Z")


class Bench(CommandLine):
    def test_ways(self):
        report = self.json("bench", "typed_functions:half", "--rounds", "2", "--milliseconds", "1")
        ways = {way["way"]: way for way in report["ways"]}
        needed = ["boxed, Python loop", "TypedFunction, Python loop",
                  "ctypes function, Python loop"]
        others = ["boxed, C loop", "invoker, C loop"]
        pypy_s = ["accelerated, Python loop", "cffi pointer of PyPy's, Python loop"]
        needed += pypy_s if support.IS_PYPY else others
        for name in others if support.IS_PYPY else pypy_s:
            self.assertRegex(ways[name]["note"], "only")
        for name in needed:
            self.assertGreater(ways[name]["nanoseconds"], 0.1, name)
            self.assertLess(ways[name]["nanoseconds"], 1e6, name)
        self.assertEqual(ways["boxed, Python loop"]["ratio"], 1.0)
        for way in ways.values():
            if "ratio" in way:
                self.assertLessEqual(way["ratio_low"], way["ratio"])
                self.assertLessEqual(way["ratio"], way["ratio_high"])
            else:
                self.assertTrue(way["note"], way)

    def test_what_is_missing_says_so(self):
        self.module("numba", "raise ImportError('no numba here')")
        report = self.json("bench", "typed_functions:half", "--rounds", "1", "--milliseconds", "1")
        way, = [way for way in report["ways"] if way["way"].startswith("Numba")]
        self.assertEqual(way["note"], "numba is not installed")

    def test_other_arguments_and_signatures(self):
        report = self.json("bench", "typed_functions:absolute", "--signature", "d->d",
                           "--arguments", "-2.5", "--rounds", "1", "--milliseconds", "1")
        self.assertEqual((report["signature"], report["arguments"]), ("d->d", ["-2.5"]))

    @unittest.skipIf(support.IS_PYPY, "status functions are not called on PyPy")
    def test_a_method_a_status_and_nothing(self):
        self.module("objects", "import typed_functions\nscaler = typed_functions.Scaler(2.0)")
        for target in ("objects:scaler.scale", "typed_functions:invert", "typed_functions:count"):
            report = self.json("bench", target, "--rounds", "1", "--milliseconds", "1")
            self.assertIn("nanoseconds", report["ways"][1], target)


class Doctor(CommandLine):
    def test_it_is_well(self):
        report = self.json("doctor")
        self.assertTrue(report["is_well"])
        findings = {row["what"]: row["finding"] for part in report.values()
                    if isinstance(part, list) for row in part}
        self.assertIn("%d.%d" % sys.version_info[:2], findings["interpreter"])
        self.assertEqual(findings["headers"], typedcall.get_include())
        self.assertIn("METH_TYPED", findings)
        self.assertIn("numba", findings)
        self.assertIn(typedcall.get_include(), self.output("doctor"))

    def test_a_package_that_was_not_installed_is_a_fault(self):
        # Without metadata Numba does not find the entry point.
        code = ("import importlib.metadata as m, sys\nm.distributions = lambda **k: []\n"
                "from typedcall.cli import main\nsys.exit(main(['doctor', '--json']))")
        status, output, _ = support.python("-c", code)
        self.assertEqual((status, json.loads(output)["is_well"]), (1, False))


if __name__ == "__main__":
    unittest.main()
