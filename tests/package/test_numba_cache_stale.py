"""Tests that cached Numba code is compiled again if the functions that it calls have changed."""


import adapter_support
import support
from numba_cache_support import ALL, EXPECTED, KERNELS, PROVIDER, SHAPES, Cache

numba = adapter_support.library("numba")

BUILT = """
#include <Python.h>
#include "typedcall/typed_method.h"

static {type} half({type} x) {{ return x / 2; }}

static PyObject *boxed(PyObject *self, PyObject *x) {{
  (void)self;
  return PyNumber_TrueDivide(x, PyLong_FromLong(2));
}}

PyTypedMethod_DEFINE(f_typed, "f", PyTypedMethod_ENTRY(0, half, {code}, {code}));
static PyMethodDef methods[] = {{PyTypedMethod_METHOD_DEF(f_typed, boxed, METH_O, NULL),
                                {{NULL, NULL, 0, NULL}}}};
PyTypedMethod_SIBLING(f, methods[0], f_typed);
static struct PyModuleDef definition = {{
    PyModuleDef_HEAD_INIT, "built", NULL, 0, methods, NULL, NULL, NULL, NULL}};
PyMODINIT_FUNC PyInit_built(void) {{ return PyModuleDef_Init(&definition); }}
"""


class OtherProvider(Cache):
    def changed(self, before, after, expected, lines=ALL):
        """Changes the provider. Two more processes must then print `expected`."""
        self.assertEqual(SHAPES.count(before), 1)
        self.write("shapes.py", SHAPES.replace(before, after))
        second = self.run_program(lines)
        self.assertEqual(second["results"], expected)
        third = self.run_program(lines)
        self.assertEqual((third["results"], third["misses"]), (expected, 0))
        return second

    def test_another_address(self):
        self.run_program(ALL)
        half = '@tagged("d->d", flags=simple)'
        expected = list(EXPECTED)
        expected[0], expected[1], expected[13] = 2.0, 4.0, 6.0
        expected[14], expected[15], expected[17] = 3.0, 5 / 3, 5 / 3
        expected[18], expected[19] = [0.0, 1.0, 2.0, 3.0], 6.0
        second = self.changed(half, '@tagged("d->d", "third", flags=simple)', expected)
        self.assertEqual(second["misses"], 0)  # the declaration is the same

    def test_another_signature(self):
        lines = """
from kernels import *
values = numpy.arange(4.0)
print_all([outcome(bare, 3.0), outcome(outer, 3.0), outcome(apply, shapes.half, 5.0), outcome(ints, 1),
           outcome(callback.ctypes, 5.0), outcome(vectorized, values), outcome(generalized, values)])
"""
        self.run_program(lines)
        half = '@tagged("d->d", flags=simple)'
        # The function now falls back for 0.
        expected = [1 + 1 / 3, 2 * (1 + 1 / 3), 0.2, 2, 0.2]
        program = lines.replace("values = numpy.arange(4.0)", "values = 1 + numpy.arange(2.0)")
        second = self.changed(half, '@tagged("d&d->i", "inverse", flags=simple | Flags.FALLS_BACK)',
                              expected + [[1.0, 0.5], 1.5], program)
        self.assertEqual(second["hits"], 1)  # `ints` calls another function
        self.changed(half, '@tagged(["l->l", "d->d"], ["half_long", "third"])',
                     [2.0, 4.0, 5 / 3, 2, 5 / 3, [1 / 3, 2 / 3], 1.0], program)

    def test_other_flags(self):
        lines = "from kernels import *\nprint_all([outcome(raises, 13), outcome(ints, 1)])"
        self.run_program(lines)
        # The new version does not declare that it may raise, so the error value is a result.
        second = self.changed('"l->l", flags=Flags.MAY_RAISE | Flags.NEEDS_THREAD',
                              '"l->l", "half_long", flags=Flags.PURE', [6, 2], lines)
        self.assertEqual((second["hits"], second["misses"]), (1, 1))

    def test_another_overload(self):
        lines = "from kernels import *\nprint_all([outcome(overloads, 7)])"
        self.assertEqual(self.run_program(lines)["results"], [7])
        self.changed('["b->l", "l->l"], ["small", "half_long"]', '["l->l"], ["half_long"]', [3], lines)

    def test_another_default(self):
        self.write("kernels.py", """
import numba, shapes

@numba.njit(cache=True)
def call(a):
    return shapes.add(a)

@numba.njit(cache=True)
def with_both(a):
    return shapes.noted(a, 1)
""")
        lines = "from kernels import *\nprint_all([call(5), with_both(5)])"
        for default, expected, hits in ((1, 6, 0), (1, 6, 2), (3, 8, 1), (3, 8, 2)):
            self.write("shapes.py", PROVIDER + f"""
@tagged("ii->i")
def add(a, b={default}):
    return a + b

@tagged("ii->i", "add")
def noted(a, b, note=object()):
    return a + b
""")
            ran = self.run_program(lines)
            self.assertEqual((ran["results"], ran["hits"]), ([expected, 6], hits))

    def test_functions_that_went(self):
        self.write("kernels.py", KERNELS[:KERNELS.index("@numba.njit(cache=True)\ndef ints")]
                   + KERNELS[KERNELS.index("def outcome"):])
        lines = "from kernels import *\nprint_all([outcome(bare, 3.0), outcome(outer, 3.0)])"
        self.run_program(lines)
        for text, kind, message in (
            (SHAPES.replace("def half", "def other").replace('"d->d", f', '"d->d", "half", f'),
             "AttributeError", "module 'shapes' has no attribute 'half'"),
            (SHAPES + "\ntypedcall.untag(half)\n", "TypingError", "nopython"),
            (SHAPES + "\nhalf = 3\n", "TypingError", "nopython"),
        ):
            self.write("shapes.py", text)
            for name, said in self.run_program(lines)["results"]:
                self.assertEqual(name, kind)
                self.assertIn(message, said)
        self.write("shapes.py", SHAPES)
        self.assertEqual(self.run_program(lines)["results"], [2.5, 5.0])

    def test_a_module_that_went(self):
        self.write("facade.py", "from shapes import half")
        kernels = KERNELS.replace("import shapes", "import facade as shapes")
        self.write("kernels.py", kernels[:kernels.index("@numba.njit(cache=True)\ndef ints")]
                   + KERNELS[KERNELS.index("def outcome"):])
        lines = "from kernels import *\nprint_all([outcome(outer, 3.0)])"
        self.run_program(lines)
        self.write("facade.py", "from renamed import half")
        self.write("renamed.py", SHAPES.replace('"d->d", flags', '"d->d", "third", flags'))
        (self.folder / "shapes.py").unlink()
        second = self.run_program(lines)
        self.assertEqual((second["results"], second["hits"]), ([4.0], 0))
        self.write("facade.py", "import something_else")
        status, _, errors = support.python(
            self.folder / "program.py", environment={"NUMBA_CACHE_DIR": self.path("cache")})
        self.assertEqual(status, 1)
        self.assertIn("No module named 'something_else'", errors)

    def test_a_rebuilt_extension_module(self):
        source = self.folder / "built.c"
        self.write("kernels.py", """
import numba, built

@numba.njit(cache=True)
def twice(x):
    return built.f(built.f(x))
""")
        for c_type, x, expected, misses in (
            ("double", 3.0, 0.75, 1), ("double", 3.0, 0.75, 0), ("float", 3.0, 0.75, 1),
            ("float", 0.1, 0.02500000037252903, 0), ("long", 7, 1, 1), ("long", 7, 1, 0),
        ):
            with self.subTest(c_type):
                source.write_text(BUILT.format(type=c_type, code=c_type.upper()))
                support.compile_module(source, self.folder)
                ran = self.run_program(f"from kernels import *\nprint_all([twice({x})])")
                self.assertEqual((ran["results"], ran["misses"]), ([expected], misses))


class OldFormat(Cache):
    """Before typedcall bound symbols while it unpickles code, Numba called them when it loaded the code."""

    OLD = """
import typedcall.to_numba
from numba.core import caching
from typedcall.numba import cache
typedcall.to_numba.register()
keep = caching.CompileResultCacheImpl.reduce.__wrapped__
caching.CompileResultCacheImpl.reduce = lambda self, result: keep(
    self, result._replace(reload_init=[*result.reload_init, *cache._symbols_in(result.library)]))
caching.CodeLibraryCacheImpl.reduce = caching.CodeLibraryCacheImpl.reduce.__wrapped__
"""
    LINES = """
from kernels import *
print_all([outcome(bare, 3.0), outcome(outer, 3.0), outcome(callback.ctypes, 5.0)])
"""

    def test_a_stale_file_is_a_miss(self):
        self.assertEqual(self.run_program(self.OLD + self.LINES)["results"], [2.5, 5.0, 2.5])
        self.assertEqual(self.run_program(self.LINES)["results"], [2.5, 5.0, 2.5])
        self.write("shapes.py", SHAPES.replace('@tagged("d->d", flags=simple)', '@tagged("d->d", "third")'))
        for misses in (2, 0):
            ran = self.run_program(self.LINES)
            self.assertEqual((ran["results"], ran["misses"]), ([2.0, 4.0, 5 / 3], misses))

    def test_while_typedcall_is_off(self):
        self.write("kernels.py", KERNELS[:KERNELS.index("@numba.cfunc")] + KERNELS[KERNELS.index("def outcome"):])
        self.run_program(self.OLD + self.LINES.replace(", outcome(callback.ctypes, 5.0)", ""))
        ran = self.run_program("""
import typedcall.to_numba
from kernels import *
try:
    bare(3.0)
except typedcall.to_numba.Stale as error:
    print_all([str(error), type(error).__module__])
""", TYPEDCALL_NUMBA="0")
        said, module = ran["results"]
        self.assertRegex(said, "calls shapes.half, .*TYPEDCALL_NUMBA=0.* delete the files of this cache")
        self.assertEqual(module, "typedcall.to_numba")
