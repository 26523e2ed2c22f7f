"""Tests that each C++ header rejects a forbidden compiler option with one #error and no other
errors."""
import glob
import re
import unittest

import compilers

FLAGS = ["-fsyntax-only", "-x", "c++", "-I.", *compilers.PYTHON_HEADERS, "-"]
# These headers neither throw nor catch exceptions.
WITHOUT_EXCEPTIONS = {"typedcall/boxed_call.h", "typedcall/calling.h", "typedcall/invoker.h"}


def headers_of_cxx():
    """Returns the top-level headers that include namespace.h."""
    found = []
    for path in sorted(glob.glob("typedcall/*.h")):
        with open(path, encoding="utf-8") as file:
            if '#include "typedcall/base/namespace.h"' in file.read():
                found.append(path)
    return found


class RefusedOptions(unittest.TestCase):
    def check(self, options, words, compile_all_the_same=()):
        headers = headers_of_cxx()
        self.assertGreater(len(headers), 10)
        for compiler in [compilers.of_this_build(), *compilers.installed("clang++")]:
            for header in headers:
                with self.subTest(compiler=compiler, options=options, header=header):
                    ended = compilers.run(compiler, *options, *FLAGS, text='#include "%s"\n' % header)
                    errors = re.findall(r"error: (.*)", ended.err)
                    if header in compile_all_the_same:
                        self.assertEqual((ended.status, errors), (0, []))
                        continue
                    self.assertEqual(len(errors), 2, ended.err)
                    self.assertIn(words, errors[0])
                    self.assertIn("typedcall: the error above says why this stops here", errors[1])

    def test_below_cxx17(self):
        self.check(["-std=c++14"], "need C++17: compile with -std=c++17 or later")

    def test_without_exceptions(self):
        self.check(["-std=c++17", "-fno-exceptions"],
                   "needs C++ exceptions: compile without -fno-exceptions", WITHOUT_EXCEPTIONS)
