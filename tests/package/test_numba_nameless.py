"""Tests functions without a module name in Numba, with its disk cache and with numba.pycc."""

import importlib
import pickle
import types
import unittest
import warnings

import adapter_support
import support
import typedcall
from numba_cache_support import Cache
from typedcall.tools.foreign import import_path

numba = adapter_support.library("numba")
special = adapter_support.library("scipy.special")


class Kept(Cache):
    def test_ufuncs_of_scipy(self):
        self.write("kernels.py", """
import numba
from scipy.special import gammainc, j0

@numba.njit(cache=True)
def call(x):
    return gammainc(1.0, x) + j0(x)
""")
        lines = "from kernels import *\nprint_all([call(2.0)])"
        expected = special.gammainc(1.0, 2.0) + special.j0(2.0)
        for hits in (0, 1):
            ran = self.run_program(lines)
            self.assertEqual((ran["results"], ran["hits"], ran["warnings"]), ([expected], hits, []))

    def test_the_warning_names_who_is_in_the_way(self):
        self.write("kernels.py", """
import numba
from shapes import tagged

def make():
    @tagged("d->d")
    def half(x):
        return x
    return half

hidden = make()

@numba.njit(cache=True)
def call(x):
    return hidden(x)
""")
        ran = self.run_program("from kernels import *\nprint_all([call(6.0)])")
        self.assertEqual((ran["results"], len(ran["warnings"])), ([3.0], 1))
        self.assertRegex(ran["warnings"][0], 'Cannot cache compiled function "call" as it calls .*make.<locals>.half, '
                                             "which no other process can find")


class Path(unittest.TestCase):
    def test_the_package_that_has_it(self):
        self.assertEqual(import_path(special.gammainc), ("scipy.special", "gammainc"))
        numpy = importlib.import_module("numpy")
        self.assertEqual(import_path(numpy.sin), ("numpy", "sin"))
        user = types.ModuleType("a_user")
        user.gammainc = special.gammainc
        with support.modules({"a_user": user}):
            self.assertEqual(import_path(special.gammainc), ("scipy.special", "gammainc"))
        self.assertIsNone(import_path(numpy.frompyfunc(abs, 1, 1)))
        self.assertIsNone(import_path(str.upper))

    def test_pickles(self):
        found = pickle.loads(pickle.dumps(typedcall.resolve(special.gammainc, "dd->d")))
        self.assertEqual(found(1.0, 2.0), special.gammainc(1.0, 2.0))


class Modules(Cache):
    def test_pycc_says_that_it_cannot(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pycc = importlib.import_module("numba.pycc")
        gamma = special.gammainc

        def unnamed(x):
            raise NotImplementedError

        typedcall.tag(unnamed, "d->d", typedcall.entries(special.j0)[0].address)
        inner = numba.njit(lambda x: gamma(1.0, x))
        for function, name in ((lambda x: gamma(1.0, x), "scipy.special.gammainc"),
                               (lambda x: inner(x), "scipy.special.gammainc"), (lambda x: unnamed(x), "unnamed")):
            with self.subTest(name):
                made = pycc.CC("made")
                made.output_dir = str(self.folder)
                made.export("call", "f8(f8)")(function)
                with self.assertRaisesRegex(Exception, "numba.pycc .*%s.*cache=True" % name):
                    made.compile()
                self.assertEqual(list(self.folder.glob("made*")), [])
