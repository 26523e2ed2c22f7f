"""Tests that the module in the README compiles without a warning, with many options and under the
analysers. GCC's analyser checks a module in C, because GCC 12 recommends the analyser for C
only."""
import os

import compilers

WARNINGS = ["-fPIC", "-Wall", "-Wextra", "-Werror", *compilers.PYTHON_HEADERS]
LEVELS = [["-O0"], ["-Og"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O0", "--coverage"], ["-O2", "--coverage"]]
CLANGS_ANALYSER = ["--analyze", "-Xclang", "-analyzer-werror"]
IN_C = "examples/vendored/geometry.c"


class Modules(compilers.Compiling):
    def check(self, name, source, options):
        for compiler in compilers.installed(name) or self.skipTest("no %s here" % name):
            for flags in options:
                with self.subTest(compiler=compiler, flags=flags):
                    # Newer versions of Clang warn if -c is used with --analyze.
                    compiles = [] if flags[-len(CLANGS_ANALYSER):] == CLANGS_ANALYSER else ["-c"]
                    self.check_compiles(compilers.run(
                        compiler, *flags, *WARNINGS, *compiles, source, "-o", self.path("made.o")))

    def readme(self):
        return self.write("hello.cc", compilers.hello())

    def test_gcc(self):
        self.check("g++", self.readme(), [["-std=c++17", "-I.", *level] for level in LEVELS])

    def test_clang(self):
        self.check("clang++", self.readme(),
                   [["-std=c++17", "-I.", *level] for level in [*LEVELS, CLANGS_ANALYSER]])

    def test_gccs_analyser(self):
        single = "-I" + os.path.dirname(os.environ["SINGLE_FILE"])
        self.check("gcc", IN_C, [["-std=c99", "-O1", "-fanalyzer", single]])
