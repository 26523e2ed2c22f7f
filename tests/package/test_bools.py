"""Tests bytes other than 0 and 1 where C expects a bool. They become 1 or an error."""
import ctypes
import importlib
import os
import unittest

import adapter_support
import support
import typedcall

functions = support.build("bool_functions")
BYTES = b"\x03\x00\xff\x01"


class Python(unittest.TestCase):
    """Tests the wrappers."""

    def test_buffers(self):
        given = memoryview(bytearray(BYTES)).cast("?")
        self.assertEqual((functions.count_in_place(given), bytes(given)), (3, b"\1\0\1\1"))
        with self.assertRaisesRegex(ValueError, "item 0 of the buffer is not a bool: its byte is 3"):
            functions.count(memoryview(BYTES).cast("?"))

    def test_what_is_right_is_not_written_to(self):
        self.assertEqual(support.printed("-c", PROTECTED % str(support.MODULES.parent)).split(), ["3"])


class NumPy(unittest.TestCase):
    def setUp(self):
        self.numpy = adapter_support.library("numpy")
        self.array = self.numpy.frombuffer(bytearray(BYTES), "bool")

    @support.ON_CPYTHON
    def test_numbers(self):
        self.assertEqual(typedcall.ufunc(functions.number)(self.array).tolist(), [1, 0, 1, 1])

    @support.ON_CPYTHON
    def test_rows(self):
        before = self.array.tobytes()
        for x in (self.array, self.array.reshape(2, 2), self.array[::2], self.numpy.tile(self.array, 300)[::3]):
            expected = self.numpy.count_nonzero(x, axis=-1).tolist()
            self.assertEqual(typedcall.ufunc(functions.count)(x).tolist(), expected)
            rows, counts = typedcall.ufunc(functions.count_in_place, signature="(n)->(n),()")(x)
            self.assertEqual(counts.tolist(), expected)
            self.assertEqual(rows.tobytes(), (x != 0).tobytes())
        self.assertEqual(self.array.tobytes(), before)
        out = self.numpy.frombuffer(bytearray(BYTES), "bool")
        invert = typedcall.ufunc(functions.invert, signature="(n)->(n)")
        self.assertIs(invert(self.array, out=out), out)
        self.assertEqual(out.tobytes(), b"\0\1\0\0")


class JAX(unittest.TestCase):
    @support.ON_CPYTHON
    def test_numbers(self):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        jax, numpy = adapter_support.library("jax"), adapter_support.library("numpy")
        if not hasattr(jax, "ffi"):
            raise unittest.SkipTest("jax.ffi came with JAX 0.5, this is %s" % jax.__version__)
        number = importlib.import_module("typedcall.jax").elementwise(functions.number)
        for call in (number, jax.jit(number)):
            self.assertEqual(call(numpy.frombuffer(BYTES, "bool")).tolist(), [1, 0, 1, 1])


class SQL(unittest.TestCase):
    def register(self, connection):
        self.addCleanup(connection.close)
        importlib.import_module("typedcall.sql").register(connection, functions.number, name="number")

    @support.ON_CPYTHON
    def test_sqlite(self):
        connection = adapter_support.library("apsw").Connection(":memory:")
        self.register(connection)
        self.assertEqual(list(connection.execute("select number(3), number(256), number(-1), number(0)")),
                         [(1, 1, 1, 0)])

    @support.ON_CPYTHON
    def test_duckdb(self):
        duckdb = adapter_support.library("duckdb")
        connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        self.register(connection)
        connection.register("given", {"x": adapter_support.library("numpy").frombuffer(BYTES, "bool")})
        self.assertEqual(connection.execute("select number(x) from given").fetchall(), [(1,), (0,), (1,), (1,)])


class Callbacks(unittest.TestCase):
    def call(self, f, declaration, data):
        """Calls f as a library does, with these bytes, their number and the data pointer."""
        made = typedcall.callback(f, declaration)
        prototype = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        result = prototype(made.address)(ctypes.addressof(data), len(data), made.data)
        made.check()
        return result

    @support.ON_CPYTHON
    def test_what_python_writes(self):
        def f(x):
            x.cast("B")[:] = BYTES

        (entry,) = typedcall.entries(functions.left_to_python)
        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        given = (ctypes.c_ubyte * 4)()
        self.call(f, "long (*)(_Bool *x, size_t n, void *data)", given)
        self.assertEqual(bytes(given), b"\1\0\1\1")

    @support.ON_CPYTHON
    def test_elements(self):
        given = (ctypes.c_ubyte * 1)(255)
        self.assertEqual(self.call(functions.number, "long (*)(const _Bool *x, size_t n, void *data)", given), 1)


# Valid bools must not be written to, because another thread may read them. A write to this page crashes.
PROTECTED = """
import sys
sys.path.insert(0, %r)
import ctypes, mmap, support
pages = mmap.mmap(-1, mmap.PAGESIZE)
pages[:3] = b"\\1" * 3
at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(at), ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ) == 0
print(support.build("bool_functions").count_in_place(memoryview(pages).cast("?")))
"""
