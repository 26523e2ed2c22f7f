"""Tests the commands' output as tables and as JSON, and their errors."""
import json
import pathlib
import re
import sys
import unittest

import adapter_support
import support
import typedcall
from command_line import MODULES, CommandLine, rich


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
    @support.ON_CPYTHON  # the adapter exists only on CPython
    def test_it_says_what_scipy_s_c_functions_do_not_follow(self):
        adapter_support.library("scipy.special")
        self.assertIn("float32", self.json("show", "scipy.special:j0")["note"])
        self.assertIn("special.seterr", self.output("show", "scipy.special:j0"))
        self.assertNotIn("note", self.json("show", "typed_functions:half"))

    def test_a_module(self):
        rows = self.json("show", "typed_functions")["entries"]
        by_name = {}
        for row in rows:
            by_name.setdefault(row["name"], []).append(row["signature"])
        self.assertEqual(by_name["inc"], ["l->l"])
        self.assertEqual(by_name["absolute"], ["l->l", "d->d"])
        self.assertEqual(by_name["Scaler.scale"], ["d->d"])
        inc, = [row for row in rows if row["name"] == "inc"]
        self.assertEqual((inc["flags"], inc["is_plain"]),
                         (["THREAD_SAFE", "PURE", "SHORT"], True))
        div, = [row for row in rows if row["name"] == "div"]
        self.assertEqual((div["flags"], div["is_plain"]),
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
        """Returns the words in the table, without its ruled lines and addresses."""
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
        for arguments in ("show typed_functions --json", "show typed_functions", "doctor", "--version"):
            with self.subTest(arguments):
                # The shell closes the pipe's other end first.
                command = f"{{ sleep 1; {sys.executable} -m typedcall {arguments}; echo $? >&2; }} | exec 0<&-"
                ended = support.processes.run(["bash", "-c", command], paths=[MODULES[0]], check=False)
                self.assertEqual(ended.err, "141\n")


class Errors(CommandLine):
    def test_targets(self):
        self.assertIn("cannot import 'nonsense': ModuleNotFoundError",
                      self.error("show", "nonsense"))
        self.assertIn("'typed_functions' has no 'nonsense'",
                      self.error("show", "typed_functions:nonsense"))
        self.assertIn("has no 'Scaler.x'", self.error("show", "typed_functions:Scaler.x"))
        self.assertIn("no function in 'json' offers", self.error("show", "json", status=4))
        self.assertIn("plain_functions:half offers no native signature",
                      self.error("show", "plain_functions:half", status=4))
        self.assertIn("not MODULE:NAME", self.error("show", "typed_functions:"))
        self.assertIn("not MODULE:NAME", self.error("bench", "typed_functions"))
        self.assertIn("not MODULE:NAME", self.error("show", ""))

    def test_a_plain_function_has_a_reason(self):
        self.module("plain", "import math\nnumber, sqrt = 3, math.sqrt\n")
        for command in ("show", "verify", "bench"):
            self.assertRegex(self.error(command, "plain:sqrt", status=4),
                             r"plain:sqrt offers no native signature: it has no tag\b")
        self.assertIn("plain:number offers no native signature: ", self.error("show", "plain:number", status=4))

    @support.ON_CPYTHON  # PyPy knows fewer reasons
    def test_each_kind_of_callable_has_a_reason(self):
        self.module("plain", "import functools\ndef f(): pass\nclass C:\n    def m(self): pass\n"
                    "m = C().m\npart = functools.partial(f)\n")
        of_python = "it is a Python function, which has no C function behind it"
        for name, reason in (("f", of_python), ("C.m", of_python), ("C", "it is a type; "),
                             ("m", "it is a bound method; "), ("part", "it is a functools.partial; ")):
            self.assertIn(f"plain:{name} offers no native signature: {reason}",
                          self.error("show", "plain:" + name, status=4))

    def test_a_misspelt_word_has_a_suggestion(self):
        for arguments, suggestion in (
            (("verfy", "typed_functions"), "verify"), (("Show", "typed_functions"), "show"), (("benhc", "json"), "bench"),
            (("show", "typed_functions:hlaf"), "half"), (("show", "typed_functions:Scaler.scal"), "Scaler.scale"),
            (("bench", "typed_functions:Scalar.scale"), "Scaler.scale"), (("verify", "typed_function"), "typed_functions"),
            (("show", "jsn:dumps"), "json"), (("show", "json.decodr"), "json.decoder"), (("show", "json", "-m", "maht"), "math"),
        ):
            with self.subTest(arguments):
                self.assertRegex(self.error(*arguments), "did you mean '%s'\\?" % suggestion)
        for arguments in (("nonsense",), ("show", "nonsense"), ("show", "typed_functions:nonsense")):
            self.assertNotIn("did you mean", self.error(*arguments))
        self.module("lacking", "import jsn")
        self.assertNotIn("did you mean", self.error("show", "lacking"))

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
        self.assertGreater(report["results"][0]["unexplained"], 0)

    def test_arguments(self):
        self.assertIn("name a command", self.error())
        self.assertIn("invalid choice: 'nonsense'", self.error("nonsense"))
        self.assertIn("invalid", self.error("verify", "typed_functions", "--count", "many"))
        self.assertIn("at least 1", self.error("verify", "typed_functions", "--count", "0"))
        self.assertIn("are required: MODULE[:NAME]", self.error("show"))
        self.assertIn("does not offer 'l->l'; it offers 'd->d'",
                      self.error("bench", "typed_functions:half", "--signature", "l->l"))
        self.assertIn("must be Python literals",
                      self.error("bench", "typed_functions:half", "--arguments", "1 +"))
        self.assertIn("pass others by --arguments",
                      self.error("bench", "typed_functions:div", "--arguments", "1.0, 0.0"))
        self.assertIn("takes a pointer", self.error("bench", "typed_functions:sum_of"))


class Arguments(unittest.TestCase):
    def test_there_are_some_of_every_code(self):
        from typedcall.record.codes import CODES
        from typedcall.cli.arguments import ArgumentMaker, why_not
        for letters in CODES:
            if letters != "v" and why_not([letters]) is None:
                with self.subTest(letters):
                    self.assertEqual(len(list(ArgumentMaker([letters], 1, False).all(100))), 100)

    def test_a_kind_that_it_does_not_know(self):
        from typedcall.record.codes import CODES
        from typedcall.cli.arguments import ArgumentMaker
        maker = ArgumentMaker(["O"], 1, True)
        unknown = CODES["O"]._replace(letters="e", kind="mask")
        maker._parameters = [each._replace(code=unknown) for each in maker._parameters]
        with self.assertRaisesRegex(ValueError, "'e', of kind mask"):
            list(maker.all(10))


class WhatOthersMake(CommandLine):
    @support.ON_CPYTHON
    def test_what_is_exported_to_cython(self):
        self.module("exporting", """
            import typed_functions, typedcall
            half = typed_functions.half
            typedcall.export_to_cython(__import__(__name__))
            """)
        for target in ("exporting", "exporting:__pyx_capi__", "exporting:__pyx_capi__.half"):
            found = {entry["name"]: entry for entry in self.json("show", target)["entries"]}
            self.assertEqual(found["__pyx_capi__.half"]["signature"], "d->d", target)
            self.assertEqual("half" in found, target == "exporting")
        self.error("show", "exporting:__pyx_capi__.nothing")

    @support.ON_CPYTHON
    def test_the_functions_of_a_cffi_library(self):
        adapter_support.library("cffi")
        self.module("of_libm", """
            import cffi
            ffi = cffi.FFI()
            ffi.cdef("double hypot(double, double); double fabs(double); double no_such(double);")
            libm = ffi.dlopen("libm.so.6")
            """)
        for target in ("of_libm", "of_libm:libm"):
            found = {entry["name"]: entry["signature"]
                     for entry in self.json("show", target)["entries"]}
            self.assertEqual(found, {"libm.fabs": "d->d", "libm.hypot": "dd->d"})
        entry, = self.json("show", "of_libm:libm.fabs")["entries"]
        self.assertEqual(entry["place"], "cffi")
        self.error("bench", "of_libm:libm", status=4)


class Bench(CommandLine):
    @support.timing
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
        self.assertEqual(ways["boxed, Python loop"]["speedup"], 1.0)
        for way in ways.values():
            if "speedup" in way:
                self.assertLessEqual(way["speedup_low"], way["speedup"])
                self.assertLessEqual(way["speedup"], way["speedup_high"])
                self.assertLessEqual(way["best"], way["nanoseconds"])
            else:
                self.assertTrue(way["note"], way)

    def test_what_is_missing_says_so(self):
        self.module("numba", "raise ImportError('no numba here')")
        output = self.output("bench", "typed_functions:half", "--rounds", "1", "--milliseconds", "1")
        self.assertIn("\nnot measured: Numba, nopython loop: numba is not installed\n", output)
        report = self.json("bench", "typed_functions:half", "--rounds", "1", "--milliseconds", "1")
        way, = [way for way in report["ways"] if way["way"].startswith("Numba")]
        self.assertEqual(way["note"], "numba is not installed")

    def test_other_arguments_and_signatures(self):
        report = self.json("bench", "typed_functions:absolute", "--signature", "d->d",
                           "--arguments", "-2.5", "--rounds", "1", "--milliseconds", "1")
        self.assertEqual((report["signature"], report["arguments"]), ("d->d", ["-2.5"]))

    @support.ON_CPYTHON  # PyPy does not call functions that return a status
    def test_a_method_a_status_and_nothing(self):
        self.module("objects", "import typed_functions\nscaler = typed_functions.Scaler(2.0)")
        for target in ("objects:scaler.scale", "typed_functions:invert", "typed_functions:count"):
            report = self.json("bench", target, "--rounds", "1", "--milliseconds", "1")
            self.assertIn("nanoseconds", report["ways"][1], target)


class Doctor(CommandLine):
    def test_it_is_well(self):
        report = self.json("doctor")
        self.assertTrue(report["ok"])
        findings = {row["name"]: row["value"] for part in report.values()
                    if isinstance(part, list) for row in part}
        self.assertIn("%d.%d" % sys.version_info[:2], findings["interpreter"])
        self.assertEqual(findings["headers"], typedcall.get_include())
        self.assertIn("METH_TYPED", findings)
        self.assertIn("numba", findings)
        self.assertIn(typedcall.get_include(), self.output("doctor"))

    def test_each_missing_module_has_its_own_reason(self):
        code = ("import importlib.util as u, sys\nfound = u.find_spec\n"
                "u.find_spec = lambda n, *a: None if n.rpartition('.')[2] in ('_sqlite', '_duckdb') else found(n, *a)\n"
                "from typedcall.cli import main\nsys.exit(main(['doctor', '--json']))")
        status, output, _ = support.python("-c", code)
        off = {row["name"]: row["value"] for row in json.loads(output)["unavailable"]}
        self.assertEqual(status, 0)
        self.assertIn("sqlite3ext.h", off["_sqlite"])
        self.assertIn("CPython", off["_duckdb"])
        self.assertNotIn("sqlite", off["_duckdb"])

    def test_a_package_that_was_not_installed_is_a_fault(self):
        # Without the package's metadata, Numba cannot find the entry point.
        code = ("import importlib.metadata as m, sys\nm.distributions = lambda **k: []\n"
                "from typedcall.cli import main\nsys.exit(main(['doctor', '--json']))")
        status, output, _ = support.python("-c", code)
        self.assertEqual((status, json.loads(output)["ok"]), (1, False))
