"""Tests the scripts in bench/peers without the other tools."""

import contextlib
import io
import json
import os
import platform
import sys
import tempfile
import types
import unittest

import module_text
import peers
import processes
import run

# The linker pads the data by up to one page, and it assumes larger pages on AArch64.
PADDING = 0x10000 - 0x1000 if platform.machine() == "aarch64" else 0


def script(name, *arguments):
    # Without site-packages, no other tool can be imported.
    return processes.python("-S", os.path.join(peers.HERE, name), *arguments, check=False, together=True,
                            environment=processes.UNSANITIZED)[:2]


def module(**functions):
    """Returns a module that check_equal accepts, with these functions in place of its own."""

    def checked(types_of, function):
        def call(*arguments):
            if len(arguments) != len(types_of):
                raise TypeError("count")
            for kind, argument in zip(types_of, arguments):
                if not isinstance(argument, kind):
                    raise TypeError("type")
                if isinstance(argument, int) and not -2**63 <= argument < 2**63:
                    raise OverflowError("range")
            return function(*arguments)
        return call

    number = (float, int)
    made = {
        "inc": checked([int], lambda x: x + 1),
        "add": checked([number, number], lambda x, y: float(x) + y),
        "mix": checked([number, int, number, int], lambda x, m, y, n: float(x * m + y * n)),
    }
    made.update(functions)
    return types.SimpleNamespace(**made)


class Run(unittest.TestCase):
    def test_without_peers(self):
        with tempfile.TemporaryDirectory() as folder:
            found = os.path.join(folder, "found.json")
            status, said = script("run.py", "--rounds", "3", "--calls", "20", "--json", found,
                                  "--build-dir", folder, "--only", "by_hand", "like_clinic",
                                  "typedcall", "typedcall_may_throw", "cython", "nanobind",
                                  "pybind11", "cffi")
            self.assertEqual(status, 0, said)
            for peer in ("Cython, binding=True", "nanobind, -O2", "pybind11, -O2",
                         "cffi, API module"):
                self.assertIn("SKIPPED " + peer, said)
            with open(found, encoding="utf-8") as text:
                samples = json.load(text)["samples"]
        self.assertEqual(len(samples), 6)
        for sample in samples:
            self.assertEqual(list(sample["by_peer"]),
                             ["by_hand", "like_clinic", "typedcall", "typedcall_may_throw"])
            for values in sample["by_peer"].values():
                self.assertEqual(len(values), 3)
                self.assertGreater(min(values), 0)

    def test_right_modules_pass(self):
        asked = []

        def inc(*arguments):
            asked.append(arguments)
            return module().inc(*arguments)

        run.check_equal({"one": module(), "last": module(inc=inc)})
        self.assertEqual(asked, [each for each, _ in run.EXPECTED["l->l"]] + run.REFUSED["l->l"])

    def test_what_is_wrong_is_not_measured(self):
        wrong = {
            "a value": module(inc=lambda x: x + 2),
            "the sign of zero": module(add=lambda x, y: abs(x + y)),
            "an int for a float": module(add=lambda x, y: x + y),
            "a str for a float": module(add=lambda x, y: float(x) + float(y)),
            "nothing refused": module(mix=lambda x, m, y, n: float(float(x) * int(m) + y * n)),
        }
        for what, made in wrong.items():
            with self.assertRaises(SystemExit, msg=what) as raised:
                run.check_equal({"wrong": made})
            self.assertIn("wrong: ", str(raised.exception))

    def test_targets(self):
        def missed(**factors):
            by_name = {"by_hand": [10.0, 11.0, 12.0, 13.0], "typedcall": [10.0, 11.0, 12.0, 13.0],
                       "cython": [10.0, 11.0, 12.0, 13.0], "cffi": [11.0, 12.0, 13.0, 14.0]}
            for name, factor in factors.items():
                by_name[name] = [value * factor for value in by_name[name]]
            with contextlib.redirect_stdout(io.StringIO()):
                run.print_tables({("python", "l->l"): by_name}, "ns")
                return run.print_targets({("python", "l->l"): by_name})
        self.assertEqual(missed(), 0)
        self.assertEqual(missed(typedcall=1.02), 1)    # Cython's target is missed
        self.assertEqual(missed(typedcall=1.04), 2)    # also the target of the hand-written wrapper
        self.assertEqual(missed(typedcall=1.5), 3)     # also cffi's target
        self.assertEqual(missed(cython=0.9), 1)

    def test_ratio_is_of_a_round(self):
        value = run.ratio({"a": [1.0, 20.0, 300.0], "b": [2.0, 40.0, 600.0]}, "a", "b")
        self.assertEqual(value, run.Ratio(0.5, 0.5, 0.5))
        self.assertEqual(run.written(run.Ratio(0.9, 1.0, 1.1)), "1.000 (0.900 - 1.100)")


class Workshop(unittest.TestCase):
    def test_kept_until_something_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            shop = peers.Workshop(folder)
            text, output = shop.path("text"), shop.path("output")
            command = [sys.executable, "-S", "-c", "import sys\n"
                       "open(sys.argv[2], 'a').write(open(sys.argv[1]).read())", text, output]

            def make(written):
                with open(text, "w", encoding="ascii") as stream:
                    stream.write(written)
                shop.make(output, command, [text])
                with open(output, encoding="ascii") as stream:
                    return stream.read()

            self.assertEqual(make("a"), "a")
            self.assertEqual(make("a"), "a")  # the command does not run again
            self.assertEqual(make("b"), "b")
            with self.assertRaises(peers.Unavailable):
                shop.make(output, [sys.executable, "-S", "-c", "raise SystemExit(1)"], [text])
            self.assertFalse(os.path.exists(output))


class ModuleCost(unittest.TestCase):
    def test_without_peers(self):
        with tempfile.TemporaryDirectory() as folder:
            found = os.path.join(folder, "found.json")
            # One signature is used twice, and every other one once.
            status, said = script("module_cost.py", "--functions",
                                  str(len(module_text.SIGNATURES) + 1), "--rounds", "1",
                                  "--json", found)
            self.assertEqual(status, 0, said)
            self.assertIn("SKIPPED nanobind", said)
            with open(found, encoding="utf-8") as text:
                result = json.load(text)
        self.assertEqual(set(result["bytes"]), {"by_hand", "typedcall", "typedcall_once"})
        for name in result["bytes"]:
            self.assertGreater(result["bytes"][name], result["bytes_of_one"][name])
            self.assertGreater(result["seconds"][name][0], 0)

    def test_fifty_functions_are_small(self):
        with tempfile.TemporaryDirectory() as folder:
            found = os.path.join(folder, "found.json")
            status, said = script("module_cost.py", "--only", "typedcall", "--rounds", "1",
                                  "--json", found)
            self.assertEqual(status, 0, said)
            with open(found, encoding="utf-8") as text:
                self.assertLessEqual(json.load(text)["bytes"]["typedcall"], 95000 + PADDING)

    def test_signatures_differ(self):
        made = module_text.functions(len(module_text.SIGNATURES))
        self.assertEqual(len({(f.arguments, f.result) for f in made}), len(made))
