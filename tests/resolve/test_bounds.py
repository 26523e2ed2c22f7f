"""Compiles the code that accesses tables with compiler options that check the bounds of the declared
array, which has one entry."""
import os
import platform
import re
import shutil
import sys

import compilers
import processes

CC = os.environ["CC"]
ENVIRONMENT = processes.UNSANITIZED
SOURCE = os.path.join("tests", "resolve", "bounds.cc")
# The command that runs programs for another processor, set by tools/cross.
RUN_UNDER = os.environ.get("TYPEDCALL_RUN_UNDER", "").split()
# Only gcc has the first option. gcc 13 and clang 16 accept the second one, but g++ ignores it.
OPTIONS = {"bounds-strict": ["-fsanitize=bounds-strict"],
           "strict-flex-arrays": ["-fsanitize=bounds", "-fstrict-flex-arrays=3"]}
COMPILERS = {os.path.realpath(compiler): compiler
             for compiler in map(shutil.which, (CC, "gcc", "clang")) if compiler}
# Checks whether the compiler detects an illegal index.
CANARY ="""
struct entry { const char *signature; unsigned long flags; void *funcptr; };
struct table { long count; entry entries[1]; };
int main(int count, char **) {
  static long room[32];
  const volatile long third = count + 1;
  return reinterpret_cast<table *>(room)->entries[third].funcptr != nullptr;
}
"""
SEEN = "index 2 out of bounds"
RUN = "import bounds; bounds.run(bounds.f)"


def run(command, paths=()):
    return processes.run(command, check=False, together=True, environment=ENVIRONMENT, paths=paths)


def runtime_of(compiler):
    """Returns the options that clang needs for the sanitizer's runtime in a shared object."""
    library = "libclang_rt.ubsan_standalone-%s.so" % platform.machine()
    path = run([compiler, "-print-file-name=" + library]).out.strip()
    found = os.path.isabs(path)  # gcc only prints the name
    return ["-shared-libsan", "-Wl,-rpath," + os.path.dirname(path)] if found else []


class Bounds(compilers.Compiling):
    def blindness(self, compiler, options):
        """Returns the reason why the compiler does not detect the fault, or ""."""
        source, program = self.write("canary.cc", CANARY), self.path("canary")
        made = run([compiler, *options, *runtime_of(compiler), source, "-o", program])
        if made.status != 0:
            return "cannot use them"
        ended = run([*RUN_UNDER, program])
        self.assertIn(ended.status, (0, 1), ended.out)
        return "" if SEEN in ended.out else "sees nothing with them"

    def found(self, compiler, options):
        """Compiles and loads the module, and returns the reports about the tables."""
        module = self.path("bounds.so")
        done = run([compiler, "-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror",
                    *options, *runtime_of(compiler), "-I.", *compilers.PYTHON_HEADERS,
                    SOURCE, "-o", module, "-lstdc++"])
        self.assertEqual(done.status, 0, done.out)
        done = run([sys.executable, "-c", RUN], paths=[self.folder])
        self.assertEqual(done.status, 0, done.out)
        return [line for line in done.out.splitlines()
                if re.search(r"for type '(const )?PyNativeCallableEntry\b", line)]

    def check(self, name):
        options = OPTIONS[name]
        blind = {compiler: self.blindness(compiler, options) for compiler in COMPILERS.values()}
        for compiler in (each for each, reason in blind.items() if not reason):
            with self.subTest(compiler):
                self.assertEqual(self.found(compiler, options), [])
                # Checks that a fault is reported.
                self.assertIn(SEEN, "".join(self.found(compiler, [*options, "-DINDEXED"])))
        if all(blind.values()):
            self.skipTest(" ".join(options) + ": " + ", ".join(map(" ".join, blind.items())))

    def test_strict_bounds(self):
        self.check("bounds-strict")

    def test_strict_flexible_arrays(self):
        self.check("strict-flex-arrays")

    def test_one_of_them_is_seen_by_the_compiler_of_this_build(self):
        """At least one compiler must detect the fault. Otherwise nothing is tested."""
        found = [compiler for compiler in map(shutil.which, (CC, "gcc")) if compiler]
        self.assertTrue(any(not self.blindness(compiler, options)
                            for compiler in found for options in OPTIONS.values()))
