"""Tests recursions through typed functions that fall back. Each runs in a thread of another process."""

import importlib.util
import unittest

import support

support.module_only_if(not support.IS_PYPY, "the stack of PyPy's code is of another kind")
import recursion_program  # noqa: E402

#: The largest stack that a level may take.
A_LEVEL = 6 << 10


class Recursions(unittest.TestCase):
    def ends(self, sink, size=8 << 20, library=None, a_level=A_LEVEL):
        """Asserts that a recursion in a stack of `size` bytes raises RecursionError. Returns the bytes of a level."""
        if library is not None and importlib.util.find_spec(library) is None:
            self.skipTest("%s is not installed" % library)
        raised, levels, taken = recursion_program.outcome(sink, size)
        self.assertEqual(raised, "RecursionError", sink)
        self.assertLessEqual(taken, a_level, (sink, levels))
        return taken

    def test_typed_functions(self):
        for sink in ("typed_function", "typed_function_of_array", "typed_function_with_keyword"):
            with self.subTest(sink):
                self.ends(sink)

    def test_without_python_frames(self):
        self.ends("typed_function_without_frames", 1 << 20)

    def test_a_chain_of_typed_functions(self):
        self.ends("chain", 1 << 20)
        self.ends("names_in_a_chain", 1 << 20)

    def test_callbacks(self):
        for sink in ("callback", "callback_of_array", "callback_made_by_libffi"):
            with self.subTest(sink):
                self.ends(sink)

    def test_ufuncs(self):
        own = self.ends("numpy_frompyfunc", library="numpy")
        for sink in ("ufunc", "ufunc_of_other_types", "ufunc_of_overloads", "ufunc_without_frames",
                     "ufunc_of_other_types_in_arrays", "ufunc_out_of_range"):
            with self.subTest(sink):
                self.assertLessEqual(self.ends(sink), own + (3 << 10))

    def test_gufuncs(self):
        # NumPy's own frame is larger than 6 kB.
        own = self.ends("numpy_matmul", 64 << 20, "numpy", a_level=32 << 10)
        self.ends("gufunc", a_level=own + (4 << 10))

    def test_sqlite(self):
        self.ends("apsw_function", library="apsw")
        for sink in ("sqlite", "sqlite_overloads"):
            with self.subTest(sink):
                self.ends(sink)

    def test_duckdb(self):
        self.ends("duckdb", library="duckdb")

    def test_numba(self):
        self.ends("numba", library="numba")

    def test_jax(self):
        self.ends("jax", library="jax", a_level=1 << 20)  # two levels, of which one compiles
        # XLA's own frames are larger than 6 kB.
        own = self.ends("jax_pure_callback", library="jax", a_level=32 << 10)
        self.ends("jax_of_compiled_functions", library="jax", a_level=own)

    def test_tvm_ffi(self):
        for sink in ("tvm_ffi", "tvm_ffi_overloads", "tvm_ffi_without_frames"):
            with self.subTest(sink):
                self.ends(sink, library="tvm_ffi")
