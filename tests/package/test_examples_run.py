"""Tests the examples for libraries."""
import importlib
import unittest

import adapter_support
import support


class Examples(adapter_support.Example):
    def prints(self, name, *texts, **options):
        printed = self.run_example(name, **options)
        for text in texts:
            self.assertIn(text, printed)
        return printed

    @support.ON_CPYTHON
    def test_ctypes_and_cffi(self):
        adapter_support.library("cffi")
        self.prints("ctypes_cffi", "ctypes raised: not positive", "libm.hypot offers ['dd->d']",
                    "cffi: sizes.positive has nothing for cffi: 'l->l' needs the GIL, may raise",
                    "cffi: sizes.count has nothing for cffi: '->l' is not declared to run in several threads")

    @support.ON_CPYTHON
    def test_cython(self):
        declarations = (adapter_support.EXAMPLES / "cython" / "shapes.pxd").read_text().split("\n", 1)[1]
        self.prints("cython", declarations, "tagged in ripple.pyx: ['half', 'wave']")

    @support.ON_CPYTHON
    def test_jax(self):
        jax = adapter_support.library("jax")
        if not hasattr(jax, "ffi"):
            raise unittest.SkipTest("jax.ffi came with JAX 0.5, this is %s" % jax.__version__)
        self.prints("jax", "sum of the energies", "ValueError: no distance")

    @support.ON_CPYTHON
    def test_nanobind(self):
        adapter_support.library("nanobind")
        support.compiler("c++")
        # Two names of a function have different flags.
        printed = self.prints("nanobind", "offers ['d->d']", "promised: PURE of kelvin, 0 of to_kelvin", "untagged: True []",
                              build="build.py")
        self.assertEqual(printed.count("raises: below absolute zero"), 2, printed)

    @support.ON_CPYTHON
    def test_numba(self):
        adapter_support.library("numba")
        self.prints("numba", "position")

    @support.ON_CPYTHON
    def test_numpy(self):
        adapter_support.library("numpy")
        self.prints("numpy", "<ufunc 'curves.blend'>")

    @support.ON_CPYTHON
    def test_pybind11(self):
        pybind11 = adapter_support.library("pybind11")
        support.compiler("c++")
        printed = self.prints("pybind11", "offers ['d->d']", "2000 functions that lived and died: each had its own tag",
                              flags=["-I" + pybind11.get_include()])
        self.assertEqual(printed.count("raises: below absolute zero"), 2, printed)

    def test_pypy(self):
        """On CPython, nothing is accelerated."""
        there = "pendulum: 2 accelerated", "not period: 'd->d' (needs the GIL, may raise)"
        self.prints("pypy", "ns a step boxed", "energy: ", *(there if support.IS_PYPY else ["nothing is installed"]))

    @support.ON_CPYTHON
    def test_scipy(self):
        adapter_support.library("scipy")
        self.prints("scipy", "double (double)", "generic_filter:")

    @support.ON_CPYTHON
    def test_sql(self):
        if not hasattr(importlib.import_module("sqlite3").Connection, "load_extension"):
            adapter_support.library("apsw")
        self.prints("sql", "Oslo 1341.0 2", "ValueError: no place on the earth")

    @support.ON_CPYTHON
    def test_duckdb(self):
        adapter_support.library("duckdb")
        self.prints("sql", "Oslo 1341.0 2", "ValueError: no place on the earth", program="demo_duckdb.py")

    @support.ON_CPYTHON
    def test_tvm_ffi(self):
        adapter_support.library("tvm_ffi")
        self.prints("tvm_ffi", "swish(1) = 0.7311, logit(0.5) = 0.0\nwords: 6\nlogit(2): no probability\n",
                    "typed: ['d&d->i', 'd->d'] 0.7311")
