"""The README's module compiles without a warning at every optimisation level, with coverage and under Clang's
analyser, which all differ in how they track initialisation. GCC's analyser, which GCC 12 calls suitable
for C only, checks a module in C."""
import os
import re
import sysconfig
import tempfile
import unittest

import compilers
import processes

WARNINGS = ["-fPIC", "-Wall", "-Wextra", "-Werror", "-isystem", sysconfig.get_paths()["include"]]
LEVELS = [["-O0"], ["-Og"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O0", "--coverage"], ["-O2", "--coverage"]]
CLANGS_ANALYSER = ["--analyze", "-Xclang", "-analyzer-werror"]
IN_C = "examples/vendored/geometry.c"


class Modules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, name, source, options):
        for compiler in compilers.installed(name) or self.skipTest("no %s here" % name):
            for flags in options:
                with self.subTest(compiler=compiler, flags=flags):
                    # Newer Clangs warn that it is unused with --analyze, which compiles nothing.
                    compiles = [] if flags[-len(CLANGS_ANALYSER):] == CLANGS_ANALYSER else ["-c"]
                    made = processes.run([compiler, *flags, *WARNINGS, *compiles, source, "-o",
                                          os.path.join(self.folder, "made.o")],
                                         environment=processes.UNSANITIZED, check=False)
                    self.assertEqual((made.status, made.err), (0, ""))

    def readme(self):
        with open("README.md", encoding="utf-8") as file:
            module = re.search(r"<!-- test: file hello.cc -->\n```cpp\n(.*?)```", file.read(), re.DOTALL).group(1)
        path = os.path.join(self.folder, "hello.cc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(module)
        return path

    def test_gcc(self):
        self.check("g++", self.readme(), [["-std=c++17", "-I.", *level] for level in LEVELS])

    def test_clang(self):
        self.check("clang++", self.readme(),
                   [["-std=c++17", "-I.", *level] for level in [*LEVELS, CLANGS_ANALYSER]])

    def test_gccs_analyser(self):
        single = "-I" + os.path.dirname(os.environ["SINGLE_FILE"])
        self.check("gcc", IN_C, [["-std=c99", "-O1", "-fanalyzer", single]])
