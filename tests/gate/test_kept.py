"""Tests the results that the gate keeps for each tree and machine."""
import os
import sys
import sysconfig
import tempfile
import types
import unittest
import unittest.mock

from gate_support import ROOT, InAFolder, outcomes

import kept
import parts
import processes
import results
from results import FAILED, FLAKY, PASSED, SKIPPED, UNAVAILABLE, Case


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
    """Tests inputs that a part ignores."""

    def test_headers_that_pypys_compiler_refuses(self):
        include = sysconfig.get_path("include")
        for header in [*parts.NOT_FOR_PYPY, "typedcall/provider.h"]:
            with self.subTest(header=header):
                self.assertTrue(os.path.exists(header))
                done = processes.run(
                    ["g++", "-std=c++17", "-E", "-x", "c++", "-DPYPY_VERSION=1", "-I.", "-I" + include, "-"],
                    input=f'#include "{header}"\n', check=False)
                if header in parts.NOT_FOR_PYPY:
                    self.assertIn("#error \"typedcall: on PyPy there are providers only", done.err)
                else:
                    self.assertEqual(done.status, 0, done.err)


class OtherMachine(unittest.TestCase):
    """Tests inputs outside the tree that affect results."""

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

    def test_a_machine_without_clang(self):
        self.assertNotEqual(self.described(clang=None), self.described())

    def described(self, compiler="c++ 1", packages="installed libgtest-dev 1", clang="clang 1"):
        """Returns what tools/setup writes with these compilers and these Debian packages."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("c++", compiler), ("cc", "cc 1"), ("clang", clang), ("dpkg-query", packages)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n" + ("exit 127\n" if text is None else f"printf '%s\\n' '{text}'\n"))
                os.chmod(path, 0o755)
            with open(os.path.join(ROOT, "tools", "setup"), encoding="utf-8") as file:
                functions = file.read()
            begin, end = functions.index("describe_machine() {"), functions.index("# from_pypi FOLDER")
            processes.run(["bash", "-euo", "pipefail", "-c", functions[begin:end] + "\nfor_bazel"], cwd=folder,
                          environment={"PATH": folder + ":" + os.environ["PATH"]})
            with open(os.path.join(folder, ".machine.bazelrc"), encoding="utf-8") as file:
                return file.read()
