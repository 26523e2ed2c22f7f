"""Tests narrow arguments and results of functions compiled by clang. On x86-64 clang, unlike gcc,
relies on the caller to extend narrow arguments to int."""
import ctypes
import os
import platform
import shutil
import unittest

from collected import only_if
import folders
import narrow_caller
import processes

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clang_callees.c")
CLANG = shutil.which("clang")
WAYS = ("direct", "trampoline", "image", "ffi")
# (letter, name, smallest value, largest value)
TYPES = [("?", "bool", 0, 1), ("b", "schar", -2**7, 2**7 - 1), ("B", "uchar", 0, 2**8 - 1),
         ("h", "short", -2**15, 2**15 - 1), ("H", "ushort", 0, 2**16 - 1),
         ("i", "int", -2**31, 2**31 - 1), ("I", "uint", 0, 2**32 - 1)]


@unittest.skipUnless(CLANG, "clang is not installed")
class ClangCallees(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        library = folders.temporary(cls.addClassCleanup) / "clang_callees.so"
        processes.run([CLANG, "-std=c99", "-O2", "-shared", "-fPIC", SOURCE, "-o", library],
                      environment=processes.UNSANITIZED)
        cls.library = ctypes.CDLL(str(library))

    def address(self, name):
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value

    def check(self, name, letter, signature, value, expected):
        tried = 0
        for how in WAYS:
            with self.subTest(name=name, how=how, value=value):
                got = narrow_caller.call(self.address(name), how, letter, signature, value)
                if got is None:
                    continue
                tried += 1
                self.assertEqual(got, expected)
        self.assertGreaterEqual(tried, 2)

    def test_arguments_in_registers(self):
        for letter, name, low, high in TYPES:
            for value in {low, high, 0, 1, low // 2, high // 2}:
                self.check("one_" + name, letter, letter + "->l", value, value)

    def test_arguments_on_the_stack(self):
        for letter, name, low, high in TYPES:
            for value in {low, high, 1}:
                self.check("seven_" + name, letter, 7 * letter + "->l", value, 106 * value)

    def test_results(self):
        # The upper bits of a narrow result must be ignored.
        for letter, name, low, high in TYPES:
            for value in {low, high, 0x123456789abcdef, -1, 0x80, 0x8000, 0x80000000}:
                if letter == "?":
                    expected = int(value != 0)
                else:
                    expected = (value - low) % (high - low + 1) + low
                self.check("result_" + name, letter, "l->" + letter, value, expected)

    @only_if(platform.machine() == "x86_64")  # under AAPCS64 the callee extends arguments
    def test_clang_relies_on_its_caller(self):
        # Otherwise the tests above could not fail.
        got = narrow_caller.call_with_register(self.address("one_uchar"), 0x1ff)
        self.assertNotEqual(got, 0xff)
