"""The Python package's C++ sources under the compiler of this build and every clang of this machine:
pip compiles them with the user's, and shows its warnings to no one."""
import glob
import os
import sysconfig
import tempfile
import unittest

import compilers
import processes

SOURCES = sorted(glob.glob("typedcall/python/typedcall/**/*.cc", recursive=True))
# The adapter that wants a header of another library: CMake, too, leaves it out where that is missing.
SQLITE = "typedcall/python/typedcall/sql/_sqlite.cc"
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-I.", "-isystem",
         sysconfig.get_paths()["include"]]


def has_sqlite(compiler):
    return processes.run([compiler, "-E", "-x", "c", "-include", "sqlite3ext.h", os.devnull],
                         check=False).status == 0


class PackageSources(unittest.TestCase):
    def check(self, found):
        self.assertIn(SQLITE, SOURCES)
        for compiler in found:
            for standard in ("c++17", "c++20"):
                for source in SOURCES:
                    with self.subTest(compiler=compiler, standard=standard, source=source):
                        if source == SQLITE and not has_sqlite(compiler):
                            self.skipTest("no sqlite3ext.h: Debian's libsqlite3-dev has it")
                        processes.run([compiler, "-x", "c++", "-std=" + standard, *FLAGS, source])

    def test_compiler_of_this_build(self):
        self.check([compilers.of_this_build()])

    def test_clang(self):
        self.check(compilers.installed("clang++") or self.skipTest("no clang here"))

    def test_module_at_og(self):
        # GCC inlines least there, and so sees least of what is set.
        module = """
            #include "typedcall/provider.h"
            int twice(int x) noexcept { return 2 * x; }
            static typedcall::method_table methods{typedcall::def<twice>("twice")};
            TYPEDCALL_MODULE(twice, "A module.", methods);"""
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
            source.write(module)
            source.flush()
            made = processes.run([compilers.of_this_build(), "-x", "c++", "-std=c++17", "-Og",
                                  "-Wall", "-Wextra", "-Werror", "-S", "-o", os.devnull, *FLAGS[4:],
                                  source.name])
        self.assertEqual(made.status, 0)


if __name__ == "__main__":
    unittest.main()
