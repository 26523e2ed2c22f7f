"""Tests the output and the refusals of examples/cinderx/write_declarations.py. If CinderX is
installed, also tests how it compiles the output."""

import importlib.util
import unittest

import adapter_support
import support

WRITER = adapter_support.EXAMPLES / "cinderx/write_declarations.py"
EXPECTED = """
@native({library!r})
def static_increment({x}: int64) -> int64:
    pass


@native({library!r})
def static_minus(a: int8, b: uint16) -> int32:
    pass


@native({library!r})
def static_most() -> uint64:
    pass


# Not for Static Python:
# 'half' 'd->d': 'd' is not an int
# 'as_double' 'l->d': 'd' is not an int
# 'is_even' 'l->?': '?' is not an int
# 'is_odd' '?->l': '?' is not an int
# 'hidden' 'l->l': no library exports it: use extern "C" and default visibility
# 'raises' 'l->l': its flags are NEEDS_THREAD|MAY_RAISE
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

    def run_writer(self, *arguments, paths=()):
        return support.python(WRITER, *arguments, paths=[self.provider, *paths])

    def declarations(self):
        status, printed, errors = self.run_writer("static_functions")
        self.assertEqual((status, errors), (0, ""))
        return printed

    def test_what_is_written(self):
        printed = self.declarations()
        head, _, rest = printed.partition("uint8\n")
        self.assertTrue(head.endswith("from __static__ import native, int16, int32, int64, int8, uint16, uint32, uint64, "))
        compile(printed, "declared.py", "exec")
        parameter = rest.partition("static_increment(")[2].partition(":")[0]
        self.assertTrue(parameter.isidentifier())
        self.assertEqual(rest.strip(), EXPECTED.format(
            library=self.module.__file__, x=parameter).strip())

    def test_nothing_that_it_could_call(self):
        self.write("halves.py", "from static_functions import half\n")
        status, printed, errors = self.run_writer("halves", paths=[self.folder])
        self.assertEqual((status, printed), (1, ""))
        self.assertEqual(errors, "Static Python can call nothing of halves\n# 'half' 'd->d': 'd' is not an int\n\n")

    def test_functions_of_other_libraries(self):
        self.write("tags.py", "import ctypes, typedcall\ndef labs(x): return abs(x)\n"
                              "typedcall.tag(labs, 'l->l', ctypes.CDLL(None).labs)\n")
        status, printed, errors = self.run_writer("tags", paths=[self.folder])
        self.assertEqual(status, 0, errors)
        self.assertRegex(printed, r"@native\('.*libc.*'\)\ndef \w*abs\(x: int64\) -> int64:")

    def test_names_with_lines_are_comments_all_the_same(self):
        self.write("lines.py", "import static_functions\n"
                               "for each in ('increment', 'half'):\n"
                               "    globals()[each + '\\nraise SystemExit(1)\\n'] = getattr(static_functions, each)\n")
        status, printed, errors = self.run_writer("lines", paths=[self.folder])
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(printed.count("raise SystemExit"), 1)
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
    """Runs the example as its README describes, in a separate folder."""

    def run_demo(self):
        example = adapter_support.EXAMPLES / "cinderx"
        support.compile_module(example / "counter.cc", self.folder)
        status, declarations, errors = support.python(WRITER, "counter", paths=[self.folder])
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
        self.assertIn("It needs CPython 3.14 or 3.15", errors)
