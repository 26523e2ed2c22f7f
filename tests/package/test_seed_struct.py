"""Tests functions typed with the struct from Bernstein's post, or with PyPy's struct."""
import json
import unittest

import support
from typedcall import Flags

OFFERED = {"inc": "l->l", "half": "d->d", "heap": "l->l", "pypy": "l->l"}
BOXED = ("fast", "unknown", "unknown_result", "ends", "nothing", "rubbish", "minus_one")


class SeedStruct(unittest.TestCase):
    def ask(self, code):
        """Runs `code` in a separate process, and returns the output."""
        status, output, errors = support.python(
            "-c", "import seed_functions as seed, typedcall; print((%s))" % code,
            paths=[support.module_folder("seed_functions")])
        self.assertEqual(status, 0, errors)
        return output

    def test_what_is_offered(self):
        for name, signature in OFFERED.items():
            with self.subTest(name):
                self.assertEqual(self.ask("typedcall.signatures(seed.%s)" % name),
                                 "['%s']\n" % signature)
                self.assertEqual(
                    self.ask("[int(entry.flags) for entry in typedcall.entries(seed.%s)]" % name),
                    "[%d]\n" % Flags.NEEDS_THREAD)

    def test_what_is_called_boxed(self):
        for name in BOXED:
            with self.subTest(name):
                self.assertEqual(self.ask(
                    "typedcall.signatures(seed.%s), seed.%s(1)" % (name, name)),
                                 "([], 2)\n")

    @support.ON_CPYTHON  # PyPy makes only boxed calls to functions that need the GIL
    def test_calls(self):
        self.assertEqual(self.ask("typedcall.resolve(seed.inc, 'l->l')(41), "
                                  "typedcall.resolve(seed.heap, 'q->q')(41), "
                                  "typedcall.resolve(seed.half, 'd->d')(3.0)"), "(42, 42, 1.5)\n")

    def test_names_are_the_struct_s(self):
        self.assertEqual(self.ask("seed.inc.__name__, seed.heap.__name__, seed.pypy(1)"),
                         "('inc', 'heap', 2)\n")

    def test_show(self):
        status, output, errors = support.python(
            "-m", "typedcall", "show", "seed_functions", "--json",
            paths=[support.module_folder("seed_functions")])
        self.assertEqual(status, 0, errors)
        found = {row["name"]: row["signature"] for row in json.loads(output)["entries"]}
        self.assertEqual(found, OFFERED)
