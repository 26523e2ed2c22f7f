"""Tests the command `verify`."""
import contextlib
import io
import json
import os
import signal
import unittest
import unittest.mock
from xml.etree import ElementTree

import adapter_support
import support
from command_line import MODULES, CommandLine, rich
from typedcall.cli import comparing, report


class Verify(CommandLine):
    def test_a_module_without_differences(self):
        verdicts = self.json("verify", "typed_functions", "--count", "300")["results"]
        called = [verdict for verdict in verdicts if not verdict["skipped"]]
        self.assertGreater(len(called), 10)
        for verdict in called:
            self.assertEqual((verdict["calls"], verdict["equal"]), (300, 300), verdict)
        skipped = {verdict["name"]: verdict["skipped"] for verdict in verdicts}
        self.assertIn("needs an instance", skipped["Scaler.scale"])

    @support.ON_CPYTHON  # PyPy does not call functions with pointers
    def test_pointers_are_skipped_and_results_by_pointer_are_not(self):
        verdicts = {verdict["name"]: verdict for verdict in self.json(
            "verify", "typed_functions", "--count", "100")["results"]}
        self.assertIn("takes a pointer ('&kd')", verdicts["sum_of"]["skipped"])
        self.assertEqual(verdicts["invert"]["equal"], 100)

    # --- Modules with a wrong tag ------------------------------------------------------------

    def tagged(self, *lines):
        self.module("tagged", "import ctypes\nimport plain_functions as plain\nimport typedcall\n"
                    + "\n".join(lines))

    def differences(self, status, *arguments):
        report = self.json("verify", "tagged", "--count", "400", *arguments, status=status)
        verdict, = report["results"]
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

    def test_a_parameter_by_name_only(self):
        for name, status in (("half", 0), ("half_differs", 1)):
            self.tagged("def f(*, x):", "    return plain.half(x)",
                        f"typedcall.tag(f, 'd->d', plain.addresses['{name}'])")
            self.assertEqual(self.differences(status)["unexplained"] > 250, bool(status), name)

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
        verdict = self.wrapped(["return 1.0 if x is None else plain.half(x)"])(0)
        self.assertGreater(verdict["conversions"], 0)
        self.assertEqual(verdict["equal"] + verdict["conversions"], 400)
        self.assertEqual({example[3] for example in verdict["examples"]},
                         {"an argument of another type or size"})
        self.assertNotIn("Differences", self.output("verify", "tagged"))
        verdict = self.differences(1, "--strict")
        self.assertEqual(verdict["conversions"], 0)
        self.assertIn("raises TypeError", verdict["examples"][0][2])
        self.assertIn("Differences", self.output("verify", "tagged", "--strict", status=1))

    def test_conversions_hide_no_other_example(self):
        verdict = comparing.Verdict("f", "d->d")
        for reason in (comparing.CONVERSION, "declared (DIFFERS)", "", comparing.CONVERSION, "", "explained"):
            verdict.show(("", "", "", reason))
        self.assertEqual([example[3] for example in verdict.examples],
                         ["", "", "declared (DIFFERS)", "explained", comparing.CONVERSION])

    def test_the_last_line_is_the_verdict(self):
        self.tagged("half, inc = plain.half, plain.inc", "def skipped(x): pass",
                    "typedcall.tag(half, 'd->d', plain.addresses['half'])",
                    "typedcall.tag(skipped, '&d->d', plain.addresses['half'])")
        for module in ("tagged", "typed_functions:half"):
            with self.subTest(module):
                skipped = ", 1 skipped" if module == "tagged" else ""
                total = 2 if module == "tagged" else 1
                self.assertEqual(self.output("verify", module, "--count", "20").splitlines()[-1],
                                 f"verified 1 of {total} signatures{skipped}, with 20 calls: no unexplained difference")
        self.tagged("half = plain.half", "typedcall.tag(half, 'd->d', plain.addresses['half_differs'])")
        self.assertRegex(self.output("verify", "tagged", "--count", "20", status=1).splitlines()[-1],
                         r"^verified 1 of 1 signatures, with 20 calls: \d+ unexplained differences$")

    @support.ON_CPYTHON  # PyPy cannot tag a wrong address like this
    def test_the_last_line_tells_of_crashes(self):
        self.tagged("def f(x): return x", "data = (ctypes.c_char * 64)()", "typedcall.tag(f, 'd->d', ctypes.addressof(data))")
        self.assertEqual(self.output("verify", "tagged", "--count", "20", status=3).splitlines()[-1],
                         "verified 1 of 1 signatures, 1 stopped early, with 3 calls: 3 unexplained differences")

    def test_long_work_without_a_progress_bar_writes_lines(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        lines = "verifying: 3 of 8\nverifying: 8 of 8\n"
        for stream, seconds, expected in ((Terminal(), (0, 30), lines), (io.StringIO(), (5, 0), lines),
                                          (io.StringIO(), (0, 30), "")):
            with unittest.mock.patch.multiple(report, _console=lambda **options: None, _EVERY=seconds[0],
                                              _EVERY_ELSEWHERE=seconds[1]), \
                    contextlib.redirect_stderr(stream), report.progress("verifying", 8) as done:
                done(3)
                done(5)
            self.assertEqual(stream.getvalue(), expected)

    def test_an_int_for_a_float_and_a_huge_one(self):
        verdict = self.wrapped(["if type(x) is not float: raise TypeError",
                                "return plain.half(x)"])(0)
        self.assertEqual(verdict["equal"] + verdict["conversions"], 400)
        self.assertGreater(verdict["conversions"], 0)
        # An exception for an argument that fits is a difference.
        verdict = self.wrapped(["if type(x) is int and x == -2**63: raise OverflowError",
                                "return plain.inc(x)"], "l->l", "plain.addresses['inc']")(1)
        self.assertEqual({example[0] for example in verdict["examples"]}, {"(%d,)" % -2**63})

    def test_given_arguments(self):
        self.wrapped(["if x == 3: return 4.0", "return plain.half(x)"])
        self.assertEqual(self.differences(0, "--arguments", "1.5", "--arguments", "2.0")["equal"], 2)
        verdict = self.differences(1, "--arguments", "1.5", "--arguments", "3.0")
        self.assertEqual((verdict["calls"], verdict["equal"], verdict["unexplained"]), (2, 1, 1))
        self.assertIn("must be Python literals", self.error("verify", "tagged", "--arguments", "x"))
        status, _, errors = self.run_it("verify", "tagged", "--arguments", "1.5, 2.5")
        self.assertEqual(status, 4)
        self.assertIn("takes 1 arguments, and 2 are given", errors)

    def test_ranges(self):
        # The boxed function differs for values outside the range.
        self.wrapped(["if not (isinstance(x, (int, float)) and 0 <= x <= 1): return None",
                      "return plain.half(x)"])
        verdict = self.differences(0, "--ranges", "0:1")
        self.assertGreater(verdict["equal"], 300)
        self.assertEqual(verdict["equal"] + verdict["conversions"], 400)
        self.assertGreater(self.differences(1, "--ranges", "0:")["unexplained"], 0)
        self.assertGreater(self.differences(1)["unexplained"], 0)
        for faulty in ("1", "1:0", "a:b", "1:2:3", ":,5", "'a':"):
            self.assertIn("is not a range", self.error("verify", "tagged", "--ranges", faulty))
        status, _, errors = self.run_it("verify", "tagged", "--ranges", "0:1, :")
        self.assertEqual(status, 4)
        self.assertIn("takes 1 arguments, and 2 ranges are given", errors)
        self.wrapped(["if not 5 <= x <= 7: raise ValueError", "return plain.inc(x)"], "l->l",
                     "plain.addresses['inc']")
        self.assertGreater(self.differences(0, "--ranges", "5:7")["equal"], 300)
        self.assertGreater(self.differences(1, "--ranges", "4:7")["unexplained"], 0)
        # 1e999 is infinity.
        self.assertGreater(self.differences(1, "--ranges", "5:1e999")["unexplained"], 0)
        self.assertIn("is not a range", self.error("verify", "tagged", "--ranges", "1e999:"))

    def test_a_function_that_does_not_repeat_itself(self):
        self.tagged("import itertools", "counter = itertools.count()", "def f(x):",
                    "    return plain.half(x) + next(counter)",
                    "typedcall.tag(f, 'd->d', plain.addresses['half'])")
        verdict = self.differences(1)
        self.assertIn("the boxed call does not repeat itself", verdict["explained"])

    @support.timing
    @support.ON_CPYTHON  # PyPy cannot tag a wrong address like this
    def test_isolated_functions_take_only_themselves_along(self):
        self.tagged(
            "import os, signal, threading, time",
            "half = plain.half", "typedcall.tag(half, 'd->d', plain.addresses['half'])",
            "def dies(x): os.kill(os.getpid(), signal.SIGABRT)",
            "def hangs(x): time.sleep(100)",
            "def hangs_later(x):",
            "    hangs_later.calls += 1",
            "    if hangs_later.calls == 8: time.sleep(100)",
            "    return x / 2",
            "hangs_later.calls = 0",
            "def leaves(x): os._exit(3)",
            "def lingers(x):",
            "    threading.Thread(target=time.sleep, args=(100,)).start()",
            "    return x / 2",
            "def crashes(x): return x",
            # This is the address of data, so the unboxed call crashes.
            "data = (ctypes.c_char * 64)()",
            "def crash_of_small(x):",
            "    return ctypes.string_at(0) if x < 0 else x / 2",
            "__callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(crash_of_small)",
            "def crashes_at_times(x): return x / 2",
            "__sleeping = type(__callback)(lambda x: time.sleep(100) or 1.0)",
            "def hangs_unboxed(x): return x / 2",
            "typedcall.tag(hangs_unboxed, 'd->d', __sleeping)",
            "typedcall.tag(crashes_at_times, 'd->d', __callback)",
            "for f in (dies, hangs, hangs_later, leaves, lingers):",
            "    typedcall.tag(f, 'd->d', plain.addresses['half'])",
            "typedcall.tag(crashes, 'd->d', ctypes.addressof(data))")
        report = self.json("verify", "tagged", "--count", "50", "--time-limit", "2",
                           "--junit", "report.xml", status=3)
        verdicts = {verdict["name"]: verdict for verdict in report["results"]}
        self.assertEqual(verdicts["half"]["equal"], 50)
        self.assertRegex(verdicts["dies"]["skipped"], "^died of SIGABRT in its boxed call with ")
        self.assertRegex(verdicts["hangs"]["skipped"], "^did not end within 2 s in its boxed call")
        self.assertRegex(verdicts["leaves"]["skipped"],
                         "^ended its process with exit code 3 in its boxed call")
        self.assertGreater(verdicts["lingers"]["calls"], 0)
        self.assertEqual((verdicts["crashes"]["unexplained"], verdicts["crashes"]["stopped"]),
                         (3, "after 3 crashes"))
        self.assertEqual({name: verdict["crashes"] for name, verdict in verdicts.items()
                          if verdict["crashes"]}, {"crashes": 3, "crashes_at_times": 3})
        self.assertRegex(verdicts["hangs_unboxed"]["stopped"], "^did not end within 2 s in its unb")
        # Results before a crash or a hang are kept.
        self.assertGreater(verdicts["crashes_at_times"]["equal"], 3)
        self.assertEqual(verdicts["hangs_later"]["equal"], 7)
        self.assertRegex(verdicts["hangs_later"]["stopped"], "^did not end within 2 s in its boxed")
        suite = ElementTree.parse(self.folder / "report.xml").getroot()
        self.assertEqual({name: suite.get(name) for name in ("failures", "errors", "skipped")},
                         {"failures": "1", "errors": "2", "skipped": "4"})
        kinds = {case.get("name"): [each.tag for each in case] for case in suite}
        for kind, name in (("error", "crashes"), ("error", "crashes_at_times"),
                           ("skipped", "hangs_later"), ("failure", "hangs_unboxed")):
            self.assertEqual(kinds[name + " d->d"], [kind])
        self.assertEqual(kinds["dies d->d"], ["skipped"])
        self.assertEqual(kinds["half d->d"], [])
        self.assertRegex(verdicts["crashes"]["examples"][0][2], "^died of SIG")

    @support.ON_CPYTHON  # PyPy cannot tag callbacks that acquire the GIL like this
    def test_objects_are_compared_in_depth(self):
        numpy = adapter_support.library("numpy")
        del numpy
        for boxed, unboxed, status in (
            ("numpy.arange(3.0)", "numpy.arange(3.0)", 0),
            ("numpy.arange(3.0)", "numpy.arange(3.0) + 1", 1),
            ("numpy.zeros(3)", "-numpy.zeros(3)", 1),
            ("numpy.zeros(3)", "numpy.zeros(3, 'l')", 1),
            ("numpy.full(3, math.nan)", "numpy.full(3, math.nan)", 0),
            ("numpy.zeros(2000)", "numpy.r_[numpy.zeros(1000), 1, numpy.zeros(999)]", 1),
            ("(0.0,)", "(-0.0,)", 1), ("[1]", "[1.0]", 1), ("[1, (2, math.nan)]",) * 2 + (0,),
            ("{'a': True}", "{'a': 1}", 1), ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", 0),
            ("numpy.longdouble(0.0)", "numpy.longdouble(-0.0)", 1),
            ("endless", "endless[0]", 0),
        ):
            self.tagged(
                "import math, numpy", "endless = []", "endless.append(endless)",
                "def f(x): return " + boxed,
                "__same = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_double)(lambda x: %s)"
                % unboxed,
                "F = typedcall.Flags",
                "typedcall.tag(f, 'd->O', __same, flags=F.NEEDS_THREAD | F.MAY_RAISE)")
            with self.subTest(boxed=boxed, unboxed=unboxed):
                report = self.json("verify", "tagged", "--count", "10", status=status)
                verdict, = report["results"]
                self.assertEqual(verdict["unexplained" if status else "equal"], 10, verdict)

    def test_what_functions_print_is_not_in_the_report(self):
        self.tagged("import os", "def f(x):", "    print('by Python')", "    os.write(1, b'by C')",
                    "    return plain.half(x)",
                    "typedcall.tag(f, 'd->d', plain.addresses['half'])")
        for options in ((), ("--in-process",)):
            ended, output, errors = self.run_it("verify", "tagged", "--json", "--count", "20",
                                                "--arguments", "1.5", *options)
            self.assertEqual(ended, 0, errors)
            self.assertEqual(json.loads(output)["results"][0]["equal"], 1)
            self.assertIn("by Python", errors)
            self.assertIn("by C", errors)

    @support.ON_CPYTHON  # PyPy cannot tag a wrong address like this
    def test_a_crash_while_a_process_of_the_functions_own_goes_on(self):
        self.tagged(
            "import os, time",
            "def f(x):", "    if not hasattr(f, 'called') and os.fork() == 0:",
            "        with open('children', 'a') as file: print(os.getpid(), file=file)",
            "        os.closerange(0, 3)", "        time.sleep(30)",
            "        open('ended', 'w').close()", "        os._exit(0)",
            "    f.called = True", "    return x", "data = (ctypes.c_char * 64)()",
            "typedcall.tag(f, 'd->d', ctypes.addressof(data))")
        verdict = self.differences(3, "--count", "10", "--time-limit", "20")
        self.assertEqual(verdict["crashes"], 3)
        self.assertRegex(verdict["examples"][0][2], "^died of SIG")
        children = (self.folder / "children").read_text().split()
        self.assertEqual(len(children), 3)
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        # The command did not wait for these processes.
        self.assertFalse((self.folder / "ended").exists())

    def test_what_ends_programs(self):
        self.tagged("half = plain.half",
                    "typedcall.tag(half, 'd->d', plain.addresses['half'])",
                    "def interrupts(x): raise KeyboardInterrupt",
                    "class Faulty:", "    def __repr__(self): raise SystemExit(3)",
                    "def unprintable(x): return Faulty()",
                    "for f in (interrupts, unprintable):",
                    "    typedcall.tag(f, 'd->d', plain.addresses['half'])")
        report = self.json("verify", "tagged", "--count", "20")
        verdicts = {verdict["name"]: verdict for verdict in report["results"]}
        self.assertEqual(verdicts["half"]["equal"], 20)
        self.assertRegex(verdicts["interrupts"]["skipped"],
                         "^raised KeyboardInterrupt in its boxed call")
        self.assertRegex(verdicts["unprintable"]["skipped"], "^raised SystemExit in its comparison")

    def test_a_signal_without_a_name(self):
        self.tagged("import os, signal",
                    "def f(x): os.kill(os.getpid(), signal.SIGRTMIN + 3)",
                    "typedcall.tag(f, 'd->d', plain.addresses['half'])")
        status, _, errors = self.run_it("verify", "tagged", "--count", "10")
        self.assertEqual(status, 4)
        self.assertRegex(errors, r"died of signal \d+ in its boxed call")

    def test_what_functions_do_to_stdout(self):
        for line in ("sys.stdout = None", "sys.stdout = open(os.devnull, 'w')"):
            self.tagged("import os, sys", "def f(x):", "    " + line, "    return plain.half(x)",
                        "typedcall.tag(f, 'd->d', plain.addresses['half'])")
            for options in ((), ("--in-process",)):
                report = self.json("verify", "tagged", "--count", "10", "--arguments", "1.5", *options)
                self.assertEqual(report["results"][0]["equal"], 1)

    def test_the_largest_number(self):
        # With a 64-bit int the loop would not end.
        body = ["for i in range(abs(x) if type(x) is int and abs(x) < 2**63 else 0): pass",
                "return plain.inc(x)"]
        self.wrapped(body, "l->l", "plain.addresses['inc']")
        verdict = self.differences(0, "--largest", "50")
        self.assertEqual(verdict["equal"], 400)

    def test_overloads(self):
        # Python chooses the first overload, but the other one is not wrong.
        self.tagged("def f(x):", "    return plain.half(x)",
                    "typedcall.tag(f, ('d->d', 'd->l'), "
                    "(plain.addresses['half'], plain.addresses['half']))")
        report = self.json("verify", "tagged", "--count", "200")
        other = report["results"][1]
        self.assertEqual(other["unexplained"], 0)
        self.assertIn("Python chooses the overload 'd->d'", other["explained"])

    @unittest.skipIf(rich is None, "rich is not installed")
    def test_long_work_shows_how_far_it_is_on_a_terminal(self):
        import pty

        terminal, its_end = pty.openpty()
        ended = support.python(
            "-m", "typedcall", "verify", "typed_functions:half", "--count", "3000", cwd=self.folder,
            paths=[*MODULES, self.folder], environment={"TERM": "xterm", "COLUMNS": "80"}, stderr=its_end)
        os.close(its_end)
        shown = b""
        try:
            while True:
                shown += os.read(terminal, 4096)
        except OSError:  # on Linux, the end is an OSError
            os.close(terminal)
        self.assertEqual(ended.status, 0, shown)
        self.assertIn(b"verifying", shown)
        self.assertNotIn("verifying", ended.out)

    def test_the_seed_decides(self):
        self.tagged("half = plain.half",
                    "typedcall.tag(half, 'd->d', plain.addresses['half_differs'])")
        first, again, other = (self.output("verify", "tagged", "--json", "--seed", seed, status=1)
                               for seed in ("1", "1", "2"))
        self.assertEqual(first, again)
        self.assertNotEqual(json.loads(first)["seed"], json.loads(other)["seed"])

    def test_nothing_verified_is_an_error(self):
        status, _, errors = self.run_it("verify", "typed_functions:Scaler.scale", "--json")
        self.assertEqual(status, 4)
        self.assertRegex(errors, r"\Atypedcall: nothing was verified: it needs an instance.*\n\Z")

    def test_a_report_for_ci(self):
        self.tagged("half = plain.half",
                    "typedcall.tag(half, 'd->d', plain.addresses['half_differs'])")
        self.output("verify", "tagged", "--count", "20", "--junit", "report.xml", status=1)
        suite = ElementTree.parse(self.folder / "report.xml").getroot()
        self.assertEqual((suite.get("name"), suite.get("tests"), suite.get("failures")),
                         ("tagged", "1", "1"))
        self.assertRegex(suite[0][0].get("message"), r"^\d+ of \d+ calls differ$")
        self.assertRegex(suite[0][0].text, r"boxed .*, unboxed ")
        self.assertIn("No such file or directory",
                      self.run_it("verify", "tagged", "--junit", "no/where.xml")[2])

    def test_a_module_of_tags_first(self):
        self.module("their_tags", "import plain_functions as plain, typedcall\n"
                    "typedcall.tag(plain.half, 'd->d', plain.addresses['half'])")
        self.assertIn("offers no", self.error("verify", "plain_functions:half", status=4))
        for command in ("verify", "show"):
            report = self.json(command, "-m", "their_tags", "plain_functions:half")
            self.assertEqual(report["target"], "plain_functions:half")
        self.assertIn("cannot import 'nonsense'",
                      self.error("show", "-m", "nonsense", "typed_functions"))

    @support.ON_CPYTHON
    def test_numpy_scalars_are_the_numbers_that_they_hold(self):
        adapter_support.library("numpy")
        for made, status in (("float64", 0), ("longdouble", 1), ("int64", 1)):
            self.tagged("import numpy", "def f(x):",
                        "    value = plain.half(x)",
                        "    return numpy.%s(value) if abs(value) < 2**60 else value" % made,
                        "typedcall.tag(f, 'd->d', plain.addresses['half'])")
            self.differences(status)
