"""Tests tags for a whole module, from a table, a C header or another package."""
import ctypes
import pathlib
import types
import unittest

import adapter_support
import command_line
import support
import typedcall
from typedcall import Flags

exported = support.build("exported_functions")
NAMES = ("gcd", "norm", "sum")

HEADER = r"""
#ifndef EXPORTED_H
#define EXPORTED_H /* continued \
  line */
#ifdef __cplusplus
extern "C" {
#endif
extern "C" int ef_gcd(int a, int b);
double ef_norm(double a, double b);   // of two
double ef_of_nobody(double x);
typedef struct { int a; } ef_struct;
#if defined(__cplusplus)
}  // extern "C"
#endif
#endif
"""


def cffi_module():
    try:
        import cffi
    except ImportError:
        raise unittest.SkipTest("cffi is not installed") from None
    return cffi


class TagModule(unittest.TestCase):
    def tearDown(self):
        for name in NAMES:
            typedcall.untag(getattr(exported, name))

    def offered(self):
        return {name: typedcall.signatures(getattr(exported, name)) for name in NAMES}

    def test_a_table_and_the_modules_own_file(self):
        done = typedcall.tag_module(
            exported,
            {"gcd": "ii->i", "norm": "double(double, double)",
             "sum": ["double sum_of_doubles(double, double)", "long sum_of_longs(long x, long)"]},
            prefix="ef_", flags=Flags.PURE)
        self.assertEqual(done, ["gcd", "norm", "sum"])
        self.assertEqual(self.offered(), {"gcd": ["ii->i"], "norm": ["dd->d"],
                                          "sum": ["dd->d", "ll->l"]})
        self.assertEqual(typedcall.entries(exported.gcd)[0].flags, Flags.PURE)
        self.assertEqual(typedcall.resolve(exported.gcd, "ii->i")(12, 18), 6)
        self.assertEqual(typedcall.resolve(exported.sum, "ll->l")(1, 2), 3)
        # Tagging the module again changes nothing.
        self.assertEqual(typedcall.tag_module("exported_functions", {"gcd": "ii->i"},
                                              prefix="ef_", flags=Flags.PURE), ["gcd"])

    def test_libraries(self):
        opened = ctypes.CDLL(exported.__file__)
        # A user's argtypes must not affect the tags.
        opened.ef_norm.argtypes = [ctypes.c_int]
        for library in (exported.__file__, pathlib.Path(exported.__file__), opened):
            with self.subTest(library=library):
                self.assertEqual(
                    typedcall.tag_module(exported, {"norm": "dd->d"}, library=library,
                                         prefix="ef_"), ["norm"])
                self.assertEqual(typedcall.resolve(exported.norm, "dd->d")(3, 4), 25)
                self.assertTrue(typedcall.untag(exported.norm))

    def test_a_library_of_cffi(self):
        ffi = cffi_module().FFI()
        ffi.cdef("double ef_norm(double, double);")
        typedcall.tag_module(exported, {"norm": "dd->d"}, library=ffi.dlopen(exported.__file__),
                             prefix="ef_")
        self.assertEqual(typedcall.resolve(exported.norm, "dd->d")(3, 4), 25)

    def test_a_header(self):
        self.assertEqual(typedcall.tag_module(exported, HEADER, prefix="ef_"), ["gcd", "norm"])
        self.assertEqual(self.offered(), {"gcd": ["ii->i"], "norm": ["dd->d"], "sum": []})
        self.assertEqual(typedcall.resolve(exported.gcd, "ii->i")(12, 18), 6)
        with self.assertRaisesRegex(ValueError, "cannot read this C text"):
            typedcall.tag_module(exported, "double norm(double x", prefix="ef_")
        with self.assertRaisesRegex(ValueError, "no C function 'norm'"):
            typedcall.tag_module(exported, "double norm(double x);")
        with self.assertRaisesRegex(TypeError, "has no signature; leave ef_gcd out"):
            typedcall.tag_module(exported, "struct s { int a; }; struct s ef_gcd(int);", prefix="ef_")

    def test_comments_and_conditions_of_a_header(self):
        gcd = "int ef_gcd(int a, int b);\n"
        for text in (
            "/* of all\n # kinds */ " + gcd + "/* more */",
            "#define X 1 /* over\n two lines */\n" + gcd,
            "#define TEXT \"/*\" // it's\n" + gcd + "#define END \"*/\"",
            "#ifdef __cplusplus\nextern \"C\" int ef_gcd(int, int);\n#else\n" + gcd + "#endif\n",
            "#ifndef __cplusplus\n" + gcd + "#else\nclass C {};\n#endif",
            "#if !defined(__cplusplus)\n" + gcd + "#elif 1\nclass C {};\n#endif",
            "#if defined(X) && defined(__cplusplus)\nclass C {};\n#endif\n" + gcd,
            "#ifdef __cplusplus\n#if 1\n#include <new>\n#endif\nextern \"C\" {\n#endif\n" + gcd
            + "#ifdef __cplusplus\n}\n#endif",
            "int \\\r\nef_gcd(int a, \\\r\nint b);\r\n",
            "enum { ef_norm = 3 };\n" + gcd,
        ):
            with self.subTest(text=text):
                self.assertEqual(typedcall.tag_module(exported, text, prefix="ef_"), ["gcd"])
                self.assertTrue(typedcall.untag(exported.gcd))
        self.refused(ValueError, "cannot read this C text", exported,
                     "int ef_gcd(int, int);\nint ef_gcd(long, long);", prefix="ef_")
        # A variable is not a function, even if it contains a function pointer.
        self.assertEqual(typedcall.tag_module(exported, "extern int (*ef_gcd)(int, int);",
                                              prefix="ef_"), [])

    def refused(self, error, text, *arguments, **keywords):
        with self.assertRaisesRegex(error, text):
            typedcall.tag_module(*arguments, **keywords)
        self.assertEqual(self.offered(), {name: [] for name in NAMES})

    def test_all_or_nothing(self):
        table = {"gcd": "ii->i", "norm": "dd->d"}
        self.refused(ValueError, "has no C function 'norm'", exported,
                     {"gcd": "int ef_gcd(int, int)", "norm": "dd->d"})
        self.refused(TypeError, "has no function 'missing'", exported, dict(table, missing="d->d"),
                     prefix="ef_")
        self.refused(ValueError, "", exported, dict(table, norm="dd-d"), prefix="ef_")
        self.refused(ValueError, "unusable flags", exported, table, prefix="ef_", flags=1 << 40)
        self.refused(ValueError, "no type code for the C type 'struct x y'", exported,
                     dict(table, norm="double(struct x y)"), prefix="ef_")
        # One function already has another tag.
        typedcall.tag(exported.norm, "dd->d", ctypes.CDLL(exported.__file__).sum_of_doubles)
        with self.assertRaises(ValueError):
            typedcall.tag_module(exported, table, prefix="ef_")
        self.assertEqual(self.offered(), {"gcd": [], "norm": ["dd->d"], "sum": []})
        self.assertEqual(typedcall.resolve(exported.norm, "dd->d")(3, 4), 7)

    def test_refusals(self):
        self.refused(TypeError, "a module or its name is needed", 5, {})
        self.refused(TypeError, "are a dict or a C header's text, not 5", exported, 5)
        self.refused(TypeError, "5 is not a function name", exported, {5: "d->d"})
        self.refused(TypeError, "has no function '__name__'", exported, {"__name__": "d->d"})
        self.refused(TypeError, "", exported, {"gcd": 5}, prefix="ef_")
        self.refused(TypeError, "is not a shared library: pass the library", types.ModuleType("m"),
                     {"f": "d->d"})
        self.refused(OSError, "", exported, {"gcd": "ii->i"}, library="/no/such/library.so")
        self.refused(ValueError, "has no C function", exported, {"gcd": "ii->i"}, library=object())
        self.refused(ImportError, "no_such_module", "no_such_module", {})


class LoadTags(command_line.CommandLine):
    """Tests packages that contribute tags."""

    def install(self, tags, source):
        self.module("bringing", source)
        info = self.folder / "bringing-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bringing\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[typedcall_tags]\n" + tags)

    def run_it(self, *arguments):
        return support.python(*arguments, cwd=self.folder, paths=[
            support.module_folder("exported_functions"), self.folder])

    def test_each_once_and_when_the_module_is_there(self):
        self.install("exported_functions = bringing:tag\nnobody = bringing:not_this\n", """
            import typedcall
            def tag(module):
                print("tags for", module.__name__)
                typedcall.tag_module(module, {"gcd": "ii->i"}, prefix="ef_")
            """)
        ended, output, errors = self.run_it("-c", (
            "import typedcall; print(typedcall.load_tags())\n"
            "import exported_functions as e\n"
            "print(typedcall.load_tags(), typedcall.load_tags(), typedcall.signatures(e.gcd))"))
        self.assertEqual((ended, errors, output), (
            0, "", "[]\ntags for exported_functions\n['exported_functions'] [] ['ii->i']\n"))
        ended, output, errors = self.run_it("-m", "typedcall", "show", "exported_functions")
        self.assertEqual((ended, errors), (0, "tags for exported_functions\n"))
        self.assertIn("ii->i", output)

    def test_what_fails_hides_nothing(self):
        self.install("json = bringing:fail\nmath = bringing:no_such\n"
                     "exported_functions = bringing:tag\n", """
            import typedcall
            def fail(module): raise ValueError("not today")
            def tag(module): typedcall.tag_module(module, {"gcd": "ii->i"}, prefix="ef_")
            """)
        ended, output, errors = self.run_it("-c", """if True:
            import json, math, exported_functions as e, typedcall
            try:
                typedcall.load_tags()
            except RuntimeError as error:
                print(error, repr(error.__cause__))
            print(typedcall.signatures(e.gcd))""")
        self.assertEqual((ended, errors), (0, ""))
        self.assertRegex(output, r"\Athe tags for \w+ \(bringing:\w+\) failed: .*\n\['ii->i'\]\n\Z")
        ended, output, errors = self.run_it("-m", "typedcall", "show", "json")
        self.assertEqual((ended, output), (2, ""))
        self.assertRegex(errors, "typedcall: RuntimeError: the tags for json .* not today")

    BROKEN = """
        import signal
        interrupts = []
        print("entered")
        def raises(module): raise ValueError("not today")
        def exits(module): raise SystemExit(3)
        def interrupted(module):
            if len(interrupts) < 2:
                interrupts.append(1)
                signal.raise_signal(signal.SIGINT)
            print("tagged")
        def uses_numba(module):
            print("tagging")
            import numba
            numba.njit(lambda x: module.gcd(x, x))
            try:
                numba.njit(lambda x: module.gcd(x, x))(4)
            except numba.TypingError:
                print("not yet")
        """
    CALLS = """if True:
        import warnings
        import numba, math, exported_functions as e
        print(numba.njit(lambda x: math.sin(x))(0.0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                try:
                    numba.njit(lambda x: e.gcd(x, x))(4)
                except numba.TypingError:
                    print("refused")
            print(len([each for each in caught if "the tags for" in str(each.message)]))
        """

    @support.ON_CPYTHON  # Numba is only for CPython
    def test_what_fails_stops_no_compiler(self):
        adapter_support.library("numba")
        for function in ("raises", "exits", "no_such"):
            with self.subTest(function):
                self.setUp()
                self.install(f"math = bringing:{function}\nexported_functions = bringing:{function}\n",
                             self.BROKEN)
                ended, output, errors = self.run_it("-c", self.CALLS)
                self.assertEqual((ended, errors, output), (0, "", "0.0\nentered\nrefused\nrefused\n1\n"))

    @support.ON_CPYTHON  # Numba is only for CPython
    def test_a_hook_that_compiles_is_run_once(self):
        adapter_support.library("numba")
        self.install("exported_functions = bringing:uses_numba\n", self.BROKEN)
        ended, output, errors = self.run_it("-c", self.CALLS)
        self.assertEqual((ended, errors, output), (
            0, "", "0.0\nentered\ntagging\nnot yet\nrefused\nrefused\n0\n"))

    def test_load_tags_says_what_has_failed_before(self):
        self.install("exported_functions = bringing:exits\n", self.BROKEN)
        ended, output, errors = self.run_it("-c", """if True:
            import typedcall, exported_functions
            for _ in range(2):
                try:
                    typedcall.load_tags()
                except RuntimeError as error:
                    print(error, repr(error.__cause__))""")
        self.assertEqual((ended, errors), (0, ""))
        self.assertEqual(output.count("(bringing:exits) failed: SystemExit: 3 SystemExit(3)"), 2)

    @support.ON_CPYTHON  # Numba is only for CPython
    def test_an_interrupt_comes_out(self):
        adapter_support.library("numba")
        self.install("exported_functions = bringing:interrupted\n", self.BROKEN)
        ended, output, errors = self.run_it("-c", """if True:
            import numba, typedcall, exported_functions as e
            compiled = numba.njit(lambda x: e.gcd(x, x))
            for call in (typedcall.load_tags, lambda: compiled(4), typedcall.load_tags):
                try:
                    print(call())
                except KeyboardInterrupt:
                    print("interrupted")""")
        self.assertEqual((ended, errors, output), (
            0, "", "entered\ninterrupted\ninterrupted\ntagged\n['exported_functions']\n"))
