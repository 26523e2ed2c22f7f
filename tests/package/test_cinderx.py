"""Tests the output of `python -m typedcall cinderx`, and compiles it if CinderX is installed."""

import importlib.util
import json
import unittest

import adapter_support
import support

EXPECTED = """
# increment 'l->l', increment_again 'l->l'
@native({library!r})
def static_increment({x}: int64) -> int64:
    pass


# minus 'bH->i'
@native({library!r})
def static_minus(a: int8, b: uint16) -> int32:
    pass


# most '->L'
@native({library!r})
def static_most() -> uint64:
    pass


# Not for Static Python:
# as_double 'l->d': "Native function return type must be a primitive int", not double
# half 'd->d': "@native: expected a primitive arg", not double
# hidden 'l->l': its C function has no symbol that others see: make it extern "C" with \
__attribute__((visibility("default")))
# is_even 'l->?': "Native function return type must be a primitive int", not bool
# is_odd '?->l': "Native function argument must be a primitive int, got CBool"
# raises 'l->l': needs the GIL, may raise
"""
PROGRAM = """
from cinderx.compiler.strict.loader import install
install()
import cinderx.jit, loop
calls = loop.run, loop.minus, loop.most
for each in calls:
    cinderx.jit.force_compile(each)
print(all(map(cinderx.jit.is_jit_compiled, calls)), loop.run(1000), loop.minus(), loop.most())
"""
LOOP = """

from __static__ import box


def run(count: int) -> int:
    end: int64 = int64(count)
    i: int64 = 0
    while i < end:
        i = static_increment(i)
    return box(i)


def minus() -> int:
    return box(static_minus(int8(-5), uint16(65535)))


def most() -> int:
    return box(static_most())
"""


@support.ON_CPYTHON  # CinderX supports only CPython
class Declarations(support.InAFolder):
    @classmethod
    def setUpClass(cls):
        cls.module = support.build("static_functions")
        cls.provider = support.module_folder("static_functions")

    def run_command(self, *arguments, paths=()):
        return support.python("-m", "typedcall", "cinderx", *arguments, paths=[self.provider, *paths])

    def declarations(self):
        status, printed, errors = self.run_command("static_functions")
        self.assertEqual((status, errors), (0, ""))
        return printed

    def test_what_is_written(self):
        printed = self.declarations()
        head, _, rest = printed.partition("native\n")
        self.assertTrue(head.endswith("from __static__ import int32, int64, int8, uint16, uint64, "))
        compile(printed, "declared.py", "exec")
        parameter = rest.partition("static_increment(")[2].partition(":")[0]
        self.assertTrue(parameter.isidentifier())
        self.assertEqual(rest.strip(), EXPECTED.format(
            library=self.module.__file__, x=parameter).strip())

    def test_for_programs(self):
        status, printed, _ = self.run_command("static_functions:minus", "--json")
        self.assertEqual(status, 0)
        self.assertEqual(json.loads(printed)["entries"], [{
            "name": "minus", "signature": "bH->i", "library": self.module.__file__,
            "symbol": "static_minus", "types": ["int8", "uint16", "int32"], "parameters": ["a", "b"]}])

    def test_nothing_that_it_could_call(self):
        status, printed, errors = self.run_command("static_functions:half")
        self.assertEqual((status, printed), (4, ""))
        self.assertEqual(errors, "typedcall: Static Python can call nothing of 'static_functions:half': "
                                 "half 'd->d' \"@native: expected a primitive arg\", not double\n")

    def test_functions_of_other_libraries(self):
        self.write("tags.py", "import ctypes, typedcall\ndef labs(x): return abs(x)\n"
                              "typedcall.tag(labs, 'l->l', ctypes.CDLL(None).labs)\n")
        status, printed, errors = self.run_command("tags", paths=[self.folder])
        self.assertEqual(status, 0, errors)
        self.assertRegex(printed, r"@native\('.*libc.*'\)\ndef \w*abs\(x: int64\) -> int64:")

    def test_names_with_lines_are_comments_all_the_same(self):
        self.write("lines.py", "import static_functions\n"
                               "for each in ('increment', 'half'):\n"
                               "    globals()[each + '\\nraise SystemExit(1)\\n'] = getattr(static_functions, each)\n")
        status, printed, errors = self.run_command("lines", paths=[self.folder])
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(printed.count("raise SystemExit"), 2)
        self.assertNotIn("\nraise", printed)

    @unittest.skipUnless(importlib.util.find_spec("cinderx"), "CinderX is not installed")
    def test_in_the_jit(self):
        self.write("loop.py", self.declarations() + LOOP)
        self.write("program.py", PROGRAM)
        self.assertEqual(
            support.printed(self.folder / "program.py", paths=[self.provider, self.folder]),
            "True 1000 -65540 18446744073709551615")


@support.ON_CPYTHON  # CinderX supports only CPython
class TheExample(support.InAFolder):
    """Runs the example in a separate folder."""

    def run_demo(self):
        example = adapter_support.EXAMPLES / "cinderx"
        support.compile_module(example / "counter.cc", self.folder)
        status, declarations, errors = support.python("-m", "typedcall", "cinderx", "counter", paths=[self.folder])
        self.assertEqual((status, errors), (0, ""))
        self.write("loop.py", declarations + (example / "loop_behind_declarations.py").read_text())
        return support.python(example / "demo.py", paths=[self.folder])

    @unittest.skipUnless(importlib.util.find_spec("cinderx"), "CinderX is not installed")
    def test_it_runs(self):
        status, printed, errors = self.run_demo()
        self.assertEqual(status, 0, errors)
        self.assertRegex(printed, r"^[\d.]+ ns an iteration in CPython's loop, [\d.]+ ns in CinderX's JIT\n$")

    @support.only_if(not importlib.util.find_spec("cinderx"))
    def test_where_it_cannot_run_it_says_so(self):
        status, printed, errors = self.run_demo()
        self.assertEqual((status, printed), (1, ""))
        self.assertIn("it is for CPython 3.14 and 3.15", errors)
