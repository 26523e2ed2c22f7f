"""Tests Numba's disk cache: code that calls typed functions is cached, and calls the right functions in the next
process."""

import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

import adapter_support
import support
from numba_cache_support import ALL, EXPECTED, KERNELS, PROVIDER, SHAPES, Cache

numba = adapter_support.library("numba")
from typedcall.numba import cache


class NextProcess(Cache):
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
            # Nothing is compiled again.
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
        (self.folder / "brought-1.0.dist-info").mkdir()
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
        self.write("plain.py", "from kernels import *\nbare(3.0)")
        status, _, errors = support.python(
            self.folder / "plain.py", environment={"NUMBA_CACHE_DIR": self.path("other cache")})
        self.assertEqual(status, 1)
        self.assertIn("the tags for untagged (brought:tag) failed: KeyError: 'no such library'", errors)

    def test_without_typedcall_nothing_crashes(self):
        self.run_program("from kernels import *\nprint_all([outcome(bare, 3.0)])")
        hidden = "import sys; sys.modules['typedcall'] = None\n"
        self.write("shapes.py", "def half(x): return x / 2\n")
        self.write("kernels.py", KERNELS[:KERNELS.index("@numba.njit(cache=True)\ndef outer")])
        self.write("hidden.py", hidden + "import kernels\nkernels.bare(3.0)")
        status, printed, errors = support.python(
            self.folder / "hidden.py", environment={"NUMBA_CACHE_DIR": self.path("cache")})
        self.assertEqual((status, printed), (1, ""), errors)


class TurnedOff(Cache):
    """With TYPEDCALL_NUMBA=0, cached code that calls typed functions counts as missing."""

    OFF = """
import numba, typedcall.to_numba
%s
from kernels import *
print_all([outcome(bare, 3.0), outcome(outer, 3.0), outcome(overloads, 7), outcome(apply, shapes.half, 5.0), outcome(plain, 5)])
"""

    def setUp(self):
        super().setUp()
        self.write("kernels.py", KERNELS[:KERNELS.index("@numba.cfunc")] + """
@numba.njit(cache=True)
def plain(x):
    return x + 1

""" + KERNELS[KERNELS.index("def outcome"):])

    def test_it_is_off_for_cached_code_too(self):
        uncached = self.run_program(self.OFF % "", TYPEDCALL_NUMBA="0")["results"]
        self.assertEqual([each[0] for each in uncached[:4]], ["TypingError"] * 4)
        shutil.rmtree(self.path("cache"))
        on = self.run_program(self.OFF % "")["results"]
        self.assertEqual(on, [2.5, 5.0, 7, 2.5, 6])
        for how, variables in (("", {"TYPEDCALL_NUMBA": "0"}), ("typedcall.to_numba.unregister()", {})):
            ran = self.run_program(self.OFF % how, **variables)
            self.assertEqual((ran["results"], ran["hits"]), (uncached, 1))
            again = self.run_program(self.OFF % "")
            self.assertEqual((again["results"], again["misses"]), (on, 0))

    def test_stale_code_too(self):
        self.run_program(self.OFF % "")
        for shapes, errors in (
            (SHAPES.replace('def half', 'def other').replace('"d->d", f', '"d->d", "half", f'),
             ["AttributeError", "AttributeError", "TypingError"]),
            (SHAPES.replace('["b->l", "l->l"], ["small", "half_long"]', '["l->l"], ["half_long"]'), ["TypingError"] * 3),
        ):
            self.write("shapes.py", shapes)
            found = self.run_program((self.OFF % "").replace("outcome(apply, shapes.half, 5.0)", "None"), TYPEDCALL_NUMBA="0")
            self.assertEqual([each[0] for each in found["results"][:3]], errors)

    def test_code_of_a_wrapper(self):
        self.write("kernels.py", KERNELS)
        self.run_program(ALL)
        self.write("program.py", "import kernels")
        status, _, errors = support.python(self.folder / "program.py", environment={
            "NUMBA_CACHE_DIR": self.path("cache"), "SHAPES": str(self.library), "TYPEDCALL_NUMBA": "0"})
        self.assertEqual(status, 1)
        self.assertIn("TypingError", errors)


class NotKept(Cache):
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

    def test_what_resolve_returns(self):
        """It has no name in a module. A cfunc's own calls are never cached, with or without typedcall."""
        self.write("kernels.py", """
import numba, shapes, typedcall

@numba.cfunc("float64(float64)")
def function(x):
    return x / 2

resolved, of_cfunc = typedcall.resolve(shapes.half, "d->d"), typedcall.resolve(function, "d->d")

@numba.njit(cache=True)
def call(x):
    return resolved(x)

@numba.njit(cache=True)
def call_cfunc(x):
    return of_cfunc(x)

@numba.njit(cache=True)
def numbas(x):
    return function(x)
""")
        ran = self.run_program("from kernels import *\nprint_all([numbas(6.0), call(6.0), call_cfunc(6.0)])")
        self.assertEqual((ran["results"], len(ran["warnings"])), ([3.0, 3.0, 3.0], 3), ran["warnings"])
        self.assertIn("dynamic globals", ran["warnings"][0])
        for said in ran["warnings"][1:]:
            self.assertTrue(said.endswith("; call the function itself, not the TypedFunction of resolve()"), said)

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


class Names(unittest.TestCase):
    def test_in_what_is_kept_they_stay(self):
        # Other versions of the package must be able to find these names.
        self.assertEqual([each.__module__ + " " + each.__name__ for each in (cache.Symbol, cache.code_again, cache.type_again)],
                         ["typedcall._numba_cache Symbol", "typedcall._numba_cache code_again",
                          "typedcall._numba_cache type_again"])


class Digest(unittest.TestCase):
    def test_every_module_that_the_code_depends_on(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, "typedcall")
            shutil.copytree(pathlib.Path(cache.__file__).parents[1], folder,
                            ignore=shutil.ignore_patterns("include", "*.so", "__pycache__"))
            with unittest.mock.patch.object(cache, "__file__", str(folder / "numba" / "cache.py")):
                seen = {cache._package.__wrapped__()}
                # Cached code depends on these files.
                for name in ("record/codes.py", "tools/parameters.py", "record/records.py", "numba/call.py"):
                    with open(folder / name, "a", encoding="utf-8") as file:
                        file.write("# another version\n")
                    before = len(seen)
                    seen.add(cache._package.__wrapped__())
                    self.assertEqual(len(seen), before + 1, name)
