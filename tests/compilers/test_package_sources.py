"""Compiles the C++ sources of the Python package with the compiler of this build and every
installed clang. test_package_standards.py covers the other standard of each compiler."""
import glob
import os
import sysconfig

import compilers
import processes

SOURCES = sorted(glob.glob("typedcall/python/typedcall/**/*.cc", recursive=True))
# This adapter is optional, because it needs the header of another library.
SQLITE = "typedcall/python/typedcall/sinks/sql/_sqlite.cc"
# The source for PyPy needs the headers of pypy3-dev.
PYPY = "typedcall/python/typedcall/native/_native_pypy.cc"
PYPY_HEADERS = glob.glob("/usr/include/pypy3*")
FLAGS = ["-fsyntax-only", *compilers.WARNINGS, "-I.", "-isystem"]
HEADERS = sysconfig.get_paths()["include"]


def has_sqlite(compiler):
    return processes.run([compiler, "-E", "-x", "c", "-include", "sqlite3ext.h", os.devnull],
                         check=False).status == 0


def check(case, found, standard):
    """Compiles each source with each compiler, and fails on a warning."""
    case.assertLessEqual({SQLITE, PYPY}, set(SOURCES))
    for compiler in found:
        for source in SOURCES:
            with case.subTest(compiler=compiler, standard=standard, source=source):
                if source == SQLITE and not has_sqlite(compiler):
                    case.skipTest("no sqlite3ext.h: install Debian's libsqlite3-dev")
                if source == PYPY and not PYPY_HEADERS:
                    case.skipTest("no PyPy headers: install Debian's pypy3-dev")
                headers = PYPY_HEADERS[0] if source == PYPY else HEADERS
                processes.run([compiler, "-x", "c++", "-std=" + standard, *FLAGS, headers, source])


class PackageSources(compilers.Compiling):
    def test_compiler_of_this_build(self):
        check(self, [compilers.of_this_build()], "c++20")

    def test_clang(self):
        check(self, compilers.installed("clang++") or self.skipTest("no clang here"), "c++17")

    def test_module_at_og(self):
        # GCC inlines little at -Og, and may then warn about uninitialised variables.
        module ="""
            #include "typedcall/provider.h"
            int twice(int x) noexcept { return 2 * x; }
            static typedcall::method_table methods{typedcall::def<twice>("twice")};
            TYPEDCALL_MODULE(twice, "A module.", methods);"""
        self.check_compiles(compilers.run(
            compilers.of_this_build(), "-x", "c++", "-std=c++17", "-Og", "-Wall", "-Wextra", "-Werror", "-S", "-o",
            os.devnull, "-I.", *compilers.PYTHON_HEADERS, "-", text=module))
