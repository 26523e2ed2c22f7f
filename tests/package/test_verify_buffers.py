"""Tests the commands `verify` and `bench` with functions that take buffers."""
import array
import pathlib
import unittest

import support
from command_line import CommandLine
from typedcall.record import codes
from typedcall.cli import CommandError
from typedcall.cli.arguments import ArgumentMaker, as_buffers, fits, why_not

_HERE = pathlib.Path(__file__).resolve().parent


class Buffers(CommandLine):
    def setUp(self):
        super().setUp()
        self.module("buffers", """
            import sys
            sys.path.insert(0, %r)
            from buffer_support import module, provider
            import typedcall
            for name in module.addresses:
                globals()[name] = getattr(module, name)
                globals()["generated_" + name] = getattr(provider, name)
            def writes(x): return module.normalise(array(x))
            from array import array as _array
            def array(x): return _array("d", x)
            if sys.implementation.name == "pypy":
                # Called boxed only.
                del mean, mean_or_status, generated_mean, generated_mean_or_status
            """ % str(_HERE))

    def test_all_are_equal(self):
        verdicts = self.json("verify", "buffers", "--count", "200")["results"]
        self.assertGreater(len(verdicts), 20)
        for verdict in verdicts:
            # PyPy raises ValueError if C code requests write access to read-only memory.
            counted = verdict["equal"] + (verdict["conversions"] if support.IS_PYPY else 0)
            self.assertEqual((verdict["calls"], counted, verdict["unexplained"]), (200, 200, 0),
                             verdict)

    def test_what_is_written_is_compared(self):
        self.module("wrong", """
            import buffers, typedcall
            def f(x): return buffers.writes(x)
            typedcall.tag(f, "*d->d", buffers.module.addresses["normalise"])
            """)
        verdict, = self.json("verify", "wrong", "--count", "200", "--ranges", "1:2",
                             status=1)["results"]
        self.assertGreater(verdict["unexplained"], 100)
        arguments, boxed, unboxed, _ = verdict["examples"][0]
        self.assertRegex(arguments, r"array\('d', \[")
        self.assertNotEqual(boxed, unboxed)

    def test_lists_are_elements(self):
        for arguments in ("[3.0, 4.0]", "(1, 2.5)", "[]"):
            verdict, = self.json("verify", "buffers:norm", "--arguments", arguments)["results"]
            self.assertEqual((verdict["calls"], verdict["equal"]), (1, 1), verdict)
        self.assertIn("cannot be the elements of '*kd'",
                      self.error("verify", "buffers:norm", "--in-process", "--arguments", "['a']"))

    def test_bench(self):
        report = self.json("bench", "buffers:norm", "--rounds", "2", "--milliseconds", "1")
        ways = {row["way"]: row["note"] for row in report["ways"]}
        for label in ("boxed, Python loop", "TypedFunction, Python loop",
                      "ctypes function, Python loop"):
            self.assertEqual(ways[label], "", label)


class Arguments(unittest.TestCase):
    def test_there_are_some_of_every_code(self):
        for letters, code in codes.CODES.items():
            if code.kind in ("void", "pointer", "object"):
                continue
            for signature in {"*s"} if letters == "s" else {f"*{letters}", f"*k{letters}"}:
                if why_not([signature]):
                    self.assertTrue(code.kind == "complex" or code.size > 8, signature)
                    continue
                made = [each for each, in ArgumentMaker([signature], 1, True).all(200)]
                self.assertTrue(all(fits(signature, each) for each in made), signature)
                lengths = set(map(len, made))
                self.assertTrue({0, 1} <= lengths and max(lengths) > 4, (signature, lengths))

    def test_those_that_do_not_fit(self):
        made = [each for each, in ArgumentMaker(["*d"], 1, False).all(400)]
        self.assertTrue(any(not fits("*d", each) for each in made))

    def test_ranges_are_of_the_elements(self):
        for value, in ArgumentMaker(["*kd"], 1, True, ranges=((0, 1),)).all(300):
            self.assertTrue(all(0 <= each <= 1 for each in value))

    def test_lists(self):
        self.assertEqual(as_buffers(["*ki", "d"], ([1, 2], 0.5)), (array.array("i", [1, 2]), 0.5))
        self.assertEqual(as_buffers(["*kB"], ([1, 2],)), (b"\1\2",))
        self.assertEqual(as_buffers(["d"], ([1],)), ([1],))
        with self.assertRaises(CommandError):
            as_buffers(["*kB"], ([256],))
