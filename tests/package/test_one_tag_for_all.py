"""Tests that Numba, SciPy, NumPy, Cython, cffi and ctypes can all use the same tag."""

import pathlib
import sys
import tempfile
import unittest

import adapter_support
import support
import typedcall

functions = support.build("typed_functions")

CONSUMER = """
from typed_functions cimport square

def call(double x):
    return square(x)
"""


class OneTagForAll(unittest.TestCase):
    """Each library calls `typed_functions.square`, at the address in the tag."""

    def setUp(self):
        self.expected = [0.0, 1.0, 4.0, 6.25]
        self.arguments = [0.0, 1.0, -2.0, 2.5]
        (self.address,) = {entry.address for entry in typedcall.entries(functions.square)}

    def test_all(self):
        ways = {name[4:]: getattr(self, name) for name in dir(self) if name.startswith("way_")}
        self.assertEqual(sorted(ways), ["cffi", "ctypes", "cython", "numba", "numpy", "scipy"])
        if support.IS_PYPY:
            ways = {"ctypes": self.way_ctypes}  # the other libraries need CPython
        for name, way in ways.items():
            with self.subTest(library=name):
                way()

    def way_ctypes(self):
        import ctypes

        function = typedcall.ctypes_function(functions.square)
        self.assertEqual(ctypes.cast(function, ctypes.c_void_p).value, self.address)
        self.assertEqual([function(x) for x in self.arguments], self.expected)

    def way_cffi(self):
        cffi = adapter_support.library("cffi")
        function = typedcall.cffi_function(functions.square)
        self.assertEqual(int(cffi.FFI().cast("uintptr_t", function)), self.address)
        self.assertEqual([function(x) for x in self.arguments], self.expected)

        # A function that does not declare THREAD_SAFE is refused.
        self.assertTrue(typedcall.entries(functions.square)[0].flags & typedcall.Flags.THREAD_SAFE)
        with self.assertRaisesRegex(TypeError, "thread_safe_only"):
            typedcall.cffi_function(functions.counted)

    def way_numba(self):
        numba = adapter_support.library("numba")
        compiled = numba.njit(lambda x: functions.square(x))
        self.assertEqual([compiled(x) for x in self.arguments], self.expected)
        (code,) = compiled.inspect_llvm().values()
        self.assertIn(self.address, adapter_support.called_by(code))

    def way_numpy(self):
        adapter_support.library("numpy")
        ufunc = typedcall.ufunc(functions.square)
        self.assertEqual(ufunc(self.arguments).tolist(), self.expected)

    def way_scipy(self):
        integrate = adapter_support.library("scipy.integrate")
        made = typedcall.low_level_callable(functions.square)
        self.assertEqual(typedcall.entries(made)[0].address, self.address)
        self.assertAlmostEqual(integrate.quad(made, 0, 3)[0], 9.0)

    def way_cython(self):
        adapter_support.library("Cython")
        with tempfile.TemporaryDirectory(prefix="typedcall-") as folder:
            declarations = typedcall.cython_declarations(functions)
            pathlib.Path(folder, "typed_functions.pxd").write_text(declarations)
            source = pathlib.Path(folder, "one_tag_consumer.pyx")
            source.write_text(CONSUMER)
            typedcall.export_to_cython(functions)
            made = adapter_support.compile_pyx(source, folder)
            consumer = support.load("one_tag_consumer", made)
            self.addCleanup(sys.modules.pop, "one_tag_consumer")
        self.assertEqual([consumer.call(x) for x in self.arguments], self.expected)
        capsule = functions.__pyx_capi__["square"]
        self.assertEqual(typedcall.entries(capsule)[0].address, self.address)
