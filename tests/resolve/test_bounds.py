"""Tables of several entries under options for which the array of one that their struct declares has
one element: nobody indexes it."""
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

CC = os.environ["CC"]
# The test's own sanitizers are not for compilers, nor for interpreters that load what they made.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
SOURCE = os.path.join("tests", "resolve", "bounds.cc")
# The first is gcc's, the second both compilers' from 13 and 16 on.
OPTIONS = {"bounds-strict": ["-fsanitize=bounds-strict"],
           "strict-flex-arrays": ["-fsanitize=bounds", "-fstrict-flex-arrays=3"]}
COMPILERS = {"the compiler of this build": CC, "gcc": shutil.which("gcc")}
RUN = "import bounds; bounds.run(bounds.f)"


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, **kwargs)


class Bounds(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def can_use(self, compiler, options):
        """Does it know the options, and has what a shared object needs then?"""
        source = os.path.join(self.folder, "any.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int a[1]; int f(int i) { return a[i]; }")
        return run([compiler, "-shared", "-fPIC", "-Wl,-z,defs", *options, source, "-o",
                    os.path.join(self.folder, "any.so")], env=ENVIRONMENT).returncode == 0

    def found(self, compiler, options):
        """What is said of a program that loads the module compiled so. Other arrays of one, such as
        those of core/, are not the matter here."""
        module = os.path.join(self.folder, "bounds.so")
        done = run([compiler, "-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror",
                    *options, "-I.", "-isystem", sysconfig.get_paths()["include"], SOURCE,
                    "-o", module, "-lstdc++"], env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stdout)
        done = run([sys.executable, "-c", RUN], env=dict(ENVIRONMENT, PYTHONPATH=self.folder))
        self.assertEqual(done.returncode, 0, done.stdout)
        return [line for line in done.stdout.splitlines() if "for type 'PyNativeCallableEntry" in line]

    def check(self, name):
        compilers = {label: compiler for label, compiler in COMPILERS.items()
                     if compiler and self.can_use(compiler, OPTIONS[name])}
        if not compilers:
            self.skipTest("no compiler here can use " + " ".join(OPTIONS[name]))
        for label, compiler in compilers.items():
            with self.subTest(label):
                self.assertEqual(self.found(compiler, OPTIONS[name]), [])
                # Else nothing would be seen here.
                seen = self.found(compiler, [*OPTIONS[name], "-DINDEXED"])
                self.assertIn("index 2 out of bounds", "".join(seen))

    def test_strict_bounds(self):
        self.check("bounds-strict")

    def test_strict_flexible_arrays(self):
        self.check("strict-flex-arrays")


if __name__ == "__main__":
    unittest.main()
