"""Tests that every header compiles without GNU extensions on platforms without tags
(core/compiler.h)."""
import glob
import os
import re
import sys

import compilers
import without_tags

GNU = re.compile(r"__attribute__|__builtin_\w+|__atomic_\w+|__sync_\w+|\b(?:__asm__|asm)\b|__extension__"
                 r"|\b__?typeof\w*|__real__|__imag__|\b_Complex\b|__PRETTY_FUNCTION__|__int128|__alignof__"
                 r"|#\s*pragma|__(?:FLT|DBL|LDBL)_\w+|__BYTE_ORDER__")
# These adapters include headers of other libraries.
OTHERS = {"typedcall/nanobind.h", "typedcall/pybind11.h"}
# This header needs CPython 3.12 or later.
LIMITED = {"core/custom_slots_limited.h"} if sys.version_info < (3, 12) else set()
CXX_EXAMPLES = ["examples/quickstart/functions.cc", "examples/quickstart/integrate.cc"]
VENDORED = "examples/vendored/geometry.c"


def headers():
    return sorted({*glob.glob("core/*.h"), *glob.glob("typedcall/*.h")} - OTHERS - LIMITED)


class Headers(without_tags.WithoutTags):
    def test_every_header_compiles_alone(self):
        self.assertGreater(len(headers()), 30)
        for header in headers():
            with self.subTest(header):
                self.compile(header, "-fsyntax-only", "-Wno-pragma-once-outside-header", "-Wno-unused-const-variable",
                             "-Wno-unused-function")

    def test_modules_compile_at_each_level(self):
        single = "-I" + os.path.dirname(os.environ["SINGLE_FILE"])
        for source in (self.readme(), without_tags.INC, VENDORED, *CXX_EXAMPLES):
            for level in ("-O0", "-O2"):
                with self.subTest(source=source, level=level):
                    self.compile(source, level, single, "-c", "-o", self.path("made.o"))

    def test_nothing_is_gnus(self):
        gcc = compilers.installed("gcc") or self.skipTest("no gcc here")
        for header in headers():
            with self.subTest(header):
                # With this option GCC follows directives, but does not expand macros. CPython's own
                # headers may reject such a compiler.
                seen = compilers.run(gcc[0], "-E", "-fdirectives-only", "-U__GNUC__", "-w", "-x",
                                     "c++" if without_tags.is_cxx(header) else "c", "-I.", *compilers.PYTHON_HEADERS,
                                     header).out
                file, found, ours = "", [], 0
                text = re.sub(r"/\*.*?\*/", "", seen, flags=re.DOTALL)
                for line in text.splitlines():
                    marker = re.match(r'# \d+ "(.*?)"', line)
                    if marker:
                        file = os.path.normpath(marker.group(1))
                    elif file.startswith(("core" + os.sep, "typedcall" + os.sep)):
                        ours += 1
                        found += ["%s: %s" % (file, line.strip()) for _ in GNU.finditer(line.partition("//")[0])]
                self.assertGreater(ours, 10)
                self.assertEqual(found, [])
