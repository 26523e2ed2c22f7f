"""Numba's disk cache: code that calls typed functions is kept, and calls the right ones in the next
process, whatever has become of their modules."""

import ctypes
import json
import pathlib
import shutil
import tempfile
import textwrap
import unittest
import unittest.mock

import adapter_support
import support
from typedcall import _numba_cache

numba = adapter_support.library("numba")

LIBRARY = """
#include <Python.h>
#define EXPORT __attribute__((visibility("default")))
EXPORT double half(double x) { return x / 2; }
EXPORT double third(double x) { return x / 3; }
EXPORT long half_long(long x) { return x / 2; }
EXPORT int add(int a, int b) { return a + b; }
EXPORT signed char small(signed char x) { return x; }
EXPORT int inverse(double x, double *result) {
  if (x == 0) return 1;
  *result = 1 / x;
  return 0;
}
EXPORT long check(long x) {
  if (x != 13) return x;
  PyErr_SetString(PyExc_ValueError, "thirteen");
  return -1;
}
EXPORT int status(long x, long *result) {
  *result = x;
  if (x != 13) return 0;
  PyErr_SetString(PyExc_ValueError, "status thirteen");
  return -1;
}
"""

# Python functions with tags: a module that is quickly "built" another way.
PROVIDER = """
import ctypes, os
import typedcall
from typedcall import Flags

library = ctypes.PyDLL(os.environ["SHAPES"])

def address(name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value

def tagged(signature, name=None, flags=0):
    def tag(function):
        names = [name or function.__name__] if isinstance(signature, str) else name
        signatures = [signature] if isinstance(signature, str) else signature
        typedcall.tag(function, signatures, [address(each) for each in names], flags=flags)
        return function
    return tag
"""

SHAPES = PROVIDER + """
simple = Flags.PURE | Flags.THREAD_SAFE

@tagged("d->d", flags=simple)
def half(x):
    return x / 2

@tagged("ii->i", flags=simple)
def add(a, b):
    return a + b if abs(a + b) < 2**31 else "too large"

@tagged(["b->l", "l->l"], ["small", "half_long"])
def overloaded(x):
    raise OverflowError("overloaded")

@tagged("d&d->i", flags=simple | Flags.FALLS_BACK)
def inverse(x):
    if x == 0:
        raise ZeroDivisionError("boxed")
    return -1.0

@tagged("l->l", flags=Flags.MAY_RAISE | Flags.NEEDS_THREAD)
def check(x):
    return x

@tagged("l&l->i", flags=Flags.RETURNS_STATUS | Flags.NEEDS_THREAD)
def status(x):
    return x

class Kept:
    @staticmethod
    @tagged("d->d", "third")
    def third(x):
        return x / 3
"""

KERNELS = """
import numba, numpy
import shapes

@numba.njit(cache=True)
def bare(x):
    return shapes.half(x) + 1

@numba.njit(cache=True)
def outer(x):
    return bare(x) * 2

@numba.njit(cache=True)
def ints(a):
    return shapes.add(a, 1)

@numba.njit(cache=True)
def overloads(x):
    return shapes.overloaded(x)

@numba.njit(cache=True, nogil=True)
def falls_back(x):
    return shapes.inverse(x)

@numba.njit(cache=True, nogil=True)
def raises(x):
    return shapes.check(x)

@numba.njit(cache=True)
def status(x):
    return shapes.status(x)

@numba.njit(cache=True)
def of_class(x):
    return third(x)

third = shapes.Kept.third

@numba.njit(cache=True, parallel=True)
def parallel(values):
    total = 0.0
    for i in numba.prange(len(values)):
        total += shapes.half(values[i])
    return total

@numba.njit(inline="always")
def inlined(x):
    return shapes.half(x)

@numba.njit(cache=True)
def with_inlined(x):
    return inlined(x) + 2

@numba.njit(cache=True)
def apply(f, x):
    return f(x)

@numba.cfunc("float64(float64)", cache=True)
def callback(x):
    return shapes.half(x)

@numba.vectorize(["float64(float64)"], cache=True)
def vectorized(x):
    return shapes.half(x)

@numba.guvectorize(["(float64[:], float64[:])"], "(n)->()", cache=True)
def generalized(values, result):
    result[0] = 0
    for value in values:
        result[0] += shapes.half(value)

def outcome(function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return [type(error).__name__, str(error).split("\\n")[0]]
    return result.tolist() if hasattr(result, "tolist") else result
"""

ALL = """
from kernels import *
values = 3 * numpy.arange(4.0)
print_all([
    outcome(bare, 3.0), outcome(outer, 3.0), outcome(ints, 5), outcome(ints, 2**31),
    [outcome(overloads, x) for x in (7, 300, -300)], outcome(overloads, numpy.uint64(2**63)),
    outcome(falls_back, 4.0), outcome(falls_back, 0.0), outcome(raises, 5), outcome(raises, 13),
    outcome(status, 5), outcome(status, 13), outcome(of_class, 9.0), outcome(parallel, values),
    outcome(with_inlined, 3.0), outcome(apply, shapes.half, 5.0), outcome(apply, third, 6.0),
    outcome(callback.ctypes, 5.0), outcome(vectorized, values), outcome(generalized, values),
])
"""

EXPECTED = [
    2.5, 5.0, 6, ["TypeError", "'str' object cannot be interpreted as an integer"],
    [7, 150, -150], ["OverflowError", "overloaded"],
    0.25, ["ZeroDivisionError", "boxed"], 5, ["ValueError", "thirteen"],
    5, ["ValueError", "status thirteen"], 3.0, 9.0,
    3.5, 2.5, 2.0, 2.5, [0.0, 1.5, 3.0, 4.5], 9.0,
]

MAIN = """
import json, sys, warnings
import numba
from numba.core import event

compiled = event.RecordingListener()
event.register("numba:compile", compiled)

def print_all(results):
    from numba.core.dispatcher import Dispatcher
    import kernels, typedcall
    found = [each for each in vars(kernels).values() if isinstance(each, Dispatcher)]
    hits = sum(sum(each.stats.cache_hits.values()) for each in found)
    misses = sum(sum(each.stats.cache_misses.values()) for each in found)
    provider = sys.modules.get("shapes")
    half = getattr(provider, "half", None)
    offered = typedcall.entries(half) if half is not None else []
    print(json.dumps({
        "results": results, "hits": hits, "misses": misses, "compiled": len(compiled.buffer) // 2,
        "warnings": [str(each.message) for each in caught if "cache" in str(each.message)],
        "address": [entry.address for entry in offered],
    }))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
"""


BUILT = """
#include <Python.h>
#include "typedcall/typed_entry.h"

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


class Cache(adapter_support.Folder):
    @classmethod
    def setUpClass(cls):
        source = pathlib.Path(cls.folder_of_class(), "shapes_library.c")
        source.write_text(LIBRARY)
        cls.library = support.compile_module(source, source.parent)

    @classmethod
    def folder_of_class(cls):
        import shutil
        import tempfile

        folder = tempfile.mkdtemp(prefix="typedcall-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def setUp(self):
        super().setUp()
        self.write("shapes.py", SHAPES)
        self.write("kernels.py", KERNELS)

    def write(self, name, text):
        pathlib.Path(self.folder, name).write_text(text)

    def run_program(self, lines, name="program.py", **environment):
        """What a new process prints, which ends well."""
        self.write(name, MAIN + textwrap.indent(lines, "    "))
        status, printed, errors = support.python(
            pathlib.Path(self.folder, name),
            environment={"NUMBA_CACHE_DIR": str(pathlib.Path(self.folder, "cache")),
                         "SHAPES": str(self.library), "PYTHONDONTWRITEBYTECODE": "1",
                         "NUMBA_NUM_THREADS": "2", **environment})
        self.assertEqual(status, 0, printed + errors)
        return json.loads(printed)

    # --- The same in the next process ----------------------------------------------------------

    def test_the_second_process_compiles_nothing(self):
        first = self.run_program(ALL)
        self.assertEqual(first["results"], EXPECTED)
        self.assertEqual((first["hits"], first["warnings"]), (0, []))
        self.assertGreater(first["misses"], 10)
        addresses = set(first["address"])
        for _ in range(3):
            then = self.run_program(ALL)
            self.assertEqual(then["results"], EXPECTED)
            self.assertEqual((then["hits"], then["misses"]), (first["misses"], 0))
            # The wrapper around a function that `vectorize` takes Numba compiles each time.
            self.assertEqual(then["compiled"], 0)
            addresses.update(then["address"])
        random = pathlib.Path("/proc/sys/kernel/randomize_va_space")
        if random.exists() and random.read_text().strip() != "0":
            self.assertGreater(len(addresses), 1)

    def test_what_is_linked_from_the_cache_into_what_is_kept(self):
        lines = "from kernels import *\nprint_all([outcome(%s)])"
        self.assertEqual(self.run_program(lines % "bare, 3.0")["misses"], 1)
        second = self.run_program(lines % "outer, 3.0")
        self.assertEqual((second["hits"], second["misses"]), (1, 1))
        third = self.run_program(lines % "outer, 3.0")
        self.assertEqual((third["results"], third["hits"], third["misses"]), ([5.0], 1, 0))

    def test_tags_that_a_package_brings(self):
        pathlib.Path(self.folder, "brought-1.0.dist-info").mkdir()
        self.write("brought-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: brought\nVersion: 1.0")
        self.write("brought-1.0.dist-info/entry_points.txt", "[typedcall_tags]\nuntagged = brought:tag\n")
        self.write("brought.py", PROVIDER + "def tag(module): tagged('d->d')(module.half)")
        self.write("untagged.py", "def half(x): raise NotImplementedError")
        self.write("kernels.py", """
import numba, untagged

@numba.njit(cache=True)
def bare(x):
    return untagged.half(x)
""")
        lines = "from kernels import *\nprint_all([bare(3.0)])"
        for hits in (0, 1):
            ran = self.run_program(lines, PYTHONPATH=str(self.folder))
            self.assertEqual((ran["results"], ran["hits"]), ([1.5], hits))
        self.write("brought.py", "def tag(module): raise KeyError('no such library')")
        status, _, errors = support.python(
            pathlib.Path(self.folder, "program.py"), environment={
                "NUMBA_CACHE_DIR": str(pathlib.Path(self.folder, "other cache"))})
        self.assertEqual(status, 1)
        self.assertIn("the tags for untagged (brought:tag) failed: 'no such library'", errors)

    def test_without_typedcall_nothing_crashes(self):
        self.run_program("from kernels import *\nprint_all([outcome(bare, 3.0)])")
        hidden = "import sys; sys.modules['typedcall'] = None\n"
        self.write("shapes.py", "def half(x): return x / 2\n")
        self.write("kernels.py", KERNELS[:KERNELS.index("@numba.njit(cache=True)\ndef outer")])
        self.write("hidden.py", hidden + "import kernels\nkernels.bare(3.0)")
        status, printed, errors = support.python(
            pathlib.Path(self.folder, "hidden.py"),
            environment={"NUMBA_CACHE_DIR": str(pathlib.Path(self.folder, "cache"))})
        self.assertEqual((status, printed), (1, ""), errors)

    # --- The provider is another one -----------------------------------------------------------

    def changed(self, before, after, expected, lines=ALL):
        """Runs with one part of the provider's text replaced: two more processes give `expected`."""
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
        self.assertEqual(second["misses"], 0)  # the same promise

    def test_another_signature(self):
        lines = """
from kernels import *
values = numpy.arange(4.0)
print_all([outcome(bare, 3.0), outcome(outer, 3.0), outcome(apply, shapes.half, 5.0), outcome(ints, 1),
           outcome(callback.ctypes, 5.0), outcome(vectorized, values), outcome(generalized, values)])
"""
        self.run_program(lines)
        half = '@tagged("d->d", flags=simple)'
        # The function falls back for 0 now.
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
        # It did not say that it raises: then nobody looks, and the error value is a number.
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
        pathlib.Path(self.folder, "shapes.py").unlink()
        second = self.run_program(lines)
        self.assertEqual((second["results"], second["hits"]), ([4.0], 0))
        self.write("facade.py", "import something_else")
        status, _, errors = support.python(
            pathlib.Path(self.folder, "program.py"), environment={
                "NUMBA_CACHE_DIR": str(pathlib.Path(self.folder, "cache"))})
        self.assertEqual(status, 1)
        self.assertIn("No module named 'something_else'", errors)

    def test_a_rebuilt_extension_module(self):
        source = pathlib.Path(self.folder, "built.c")
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

    # --- What cannot be found again ------------------------------------------------------------

    def test_functions_without_a_name(self):
        self.write("kernels.py", """
import numba
from shapes import tagged, half
import typedcall

def make(name):
    @tagged("d->d", name)
    def half(x):
        return x
    return half

first, second = make("half"), make("third")
nameless = tagged("d->d", "half")(lambda x: x)

@numba.njit(cache=True)
def call(x):
    return (half(x), first(x), second(x), nameless(x))

@numba.njit(cache=True)
def call_other(x):
    return half(x)
""")
        lines = "from kernels import *\nprint_all([call(6.0), call_other(6.0)])"
        for hits in (0, 1):
            ran = self.run_program(lines)
            self.assertEqual(ran["results"], [[3.0, 3.0, 2.0, 3.0], 3.0])
            self.assertEqual((len(ran["warnings"]), ran["hits"]), (1, hits), ran["warnings"])
            self.assertIn('Cannot cache compiled function "call"', ran["warnings"][0])

    def test_functions_of_the_script(self):
        self.write("kernels.py", """
import sys
import numba

half = sys.modules["__main__"].half

@numba.njit(cache=True)
def call(x):
    return half(x)
""")
        lines = """
from shapes import tagged
@tagged("d->d", "%s")
def half(x): pass
from kernels import *
print_all([call(6.0)])
"""
        for name, function, result, hits in (
            ("one.py", "half", 3.0, 0), ("one.py", "half", 3.0, 1),
            ("other.py", "third", 2.0, 0), ("other.py", "third", 2.0, 1), ("one.py", "half", 3.0, 0),
        ):
            ran = self.run_program(lines % function, name)
            self.assertEqual((ran["results"], ran["hits"]), ([result], hits))

    def test_another_tag_in_one_process(self):
        lines = """
from kernels import *
import typedcall
first = bare(6.0), outer(6.0)
typedcall.untag(shapes.half)
typedcall.tag(shapes.half, "d->d", shapes.address("third"))
import importlib, kernels
other = importlib.reload(kernels)
print_all([first, other.bare(6.0), other.outer(6.0), bare(6.0)])
"""
        for _ in range(3):
            self.assertEqual(self.run_program(lines)["results"], [[4.0, 8.0], 3.0, 6.0, 4.0])


class Digest(unittest.TestCase):
    def test_every_module_that_the_code_depends_on(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            for path in pathlib.Path(_numba_cache.__file__).parent.glob("*.py"):
                shutil.copy(path, folder)
            with unittest.mock.patch.object(_numba_cache, "__file__", str(folder / "_numba_cache.py")):
                seen = {_numba_cache._package.__wrapped__()}
                # What an int may be, which default is which number, which entries there are.
                for name in ("_codes.py", "_parameters.py", "_records.py", "_numba_call.py"):
                    with open(folder / name, "a", encoding="utf-8") as file:
                        file.write("# another version\n")
                    before = len(seen)
                    seen.add(_numba_cache._package.__wrapped__())
                    self.assertEqual(len(seen), before + 1, name)


if __name__ == "__main__":
    unittest.main()
