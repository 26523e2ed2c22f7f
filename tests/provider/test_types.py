# Tests long doubles, complex numbers, strings and pointers.
import array
import ctypes
import gc
import math
import struct
import sys
import unittest

import leaks
import provider_types as m

COMPLEX = ("cdouble", "clongdouble", "stdcdouble", "stdclongdouble")
COMPLEX_FLOAT = ("cfloat", "stdcfloat")


def same_bits(a, b):
    return struct.pack("dd", a.real, a.imag) == struct.pack("dd", b.real, b.imag)


class LongDoubles(unittest.TestCase):
    def test_values(self):
        for value in (0.0, -0.0, 1.5, -1.0, math.pi, sys.float_info.max, 5e-324, math.inf):
            self.assertTrue(same_bits(complex(m.longdouble(value)), complex(value)))
            self.assertIs(type(m.longdouble(value)), float)
        self.assertTrue(math.isnan(m.longdouble(math.nan)))
        self.assertEqual((m.longdouble(3), m.longdouble(True)), (3.0, 1.0))

    def test_arguments_are_doubles(self):
        self.assertTrue(m.is_third(1 / 3))  # with 64 bits of mantissa, is_third() would be false
        self.assertEqual(m.nearly_one(), 1.0)

    def test_refused(self):
        for value in (None, "1", 1j, [1.0]):
            with self.assertRaises(TypeError, msg=value):
                m.longdouble(value)
        with self.assertRaises(OverflowError):
            m.longdouble(2 ** 1024)


class Complex(unittest.TestCase):
    def test_values(self):
        parts = (0.0, -0.0, 1.5, -1.0, 1e300, 5e-324, math.inf, -math.inf)
        for name in COMPLEX:
            for real in parts:
                for imag in parts:
                    value = complex(real, imag)
                    self.assertTrue(same_bits(getattr(m, name)(value), value), (name, value))
                    self.assertIs(type(getattr(m, name)(value)), complex)
            nan = getattr(m, name)(complex(math.nan, 2))
            self.assertTrue(math.isnan(nan.real) and nan.imag == 2)

    def test_single_precision(self):
        for name in COMPLEX_FLOAT:
            for value in (1.5 - 2.5j, 0.1 + 1e300j, -0.0 + 5e-324j):
                wanted = complex(ctypes.c_float(value.real).value, ctypes.c_float(value.imag).value)
                self.assertTrue(same_bits(getattr(m, name)(value), wanted), (name, value))

    def test_other_numbers(self):
        class Complexible:
            def __complex__(self):
                return 1 - 2j

        class Raises:
            def __complex__(self):
                raise LookupError("from __complex__")

        class Subclass(complex):
            pass

        for name in COMPLEX + COMPLEX_FLOAT:
            echo = getattr(m, name)
            for value in (2, 2.5, True, -1, -1.0, Subclass(2j)):
                self.assertEqual(echo(value), complex(value))
            self.assertEqual(echo(Complexible()), 1 - 2j)
            with self.assertRaisesRegex(LookupError, "from __complex__"):
                echo(Raises())
            for value in (None, "1j", [1j], object()):
                with self.assertRaises(TypeError, msg=value):
                    echo(value)
            with self.assertRaises(OverflowError):
                echo(2 ** 1024)

    def test_arithmetic(self):
        self.assertEqual(m.c_conjugate(1 + 2j), 1 - 2j)
        self.assertEqual(m.times(1 + 2j, 3 - 4j), (1 + 2j) * (3 - 4j))
        self.assertEqual(m.mixed(False, 1 + 2j, 10.0, 5j), 11 + 12j)
        self.assertEqual(m.mixed(True, 1 + 2j, 10.0, 3 + 5j), 5 + 3j)

    def test_may_throw(self):
        self.assertEqual(m.real_part(-1.0), -1.0)
        with self.assertRaisesRegex(ValueError, "nan has no real part"):
            m.real_part(complex(math.nan, 1))


class Strings(unittest.TestCase):
    def test_utf8(self):
        for text in ("", "x", "caf\u00e9", "\u20ac" * 100, "\U0001f40d"):
            self.assertEqual(m.length(text), len(text.encode()))
        self.assertTrue(m.same("\u00e9", "\u00e9"))
        self.assertFalse(m.same("a", "b"))

    def test_subclass(self):
        class Text(str):
            def __str__(self):
                raise AssertionError("not asked")

        self.assertEqual(m.length(Text("four")), 4)

    def test_refused(self):
        for text in ("\0", "a\0b", "end\0"):
            with self.assertRaisesRegex(ValueError, "embedded null character"):
                m.length(text)
        with self.assertRaises(UnicodeEncodeError):
            m.length("\udc80")
        for value in (None, b"bytes", bytearray(b"x"), 1, ["x"], object()):
            with self.assertRaisesRegex(TypeError, "a str is needed, not '%s'"
                                        % type(value).__name__):
                m.length(value)
            with self.assertRaises(TypeError):
                m.same("x", value)

    def test_results_are_copied(self):
        self.assertEqual(m.skip_blanks("  x " + str(gc.get_count)), "x " + str(gc.get_count))
        self.assertEqual((m.name_of(0), m.name_of(1), m.name_of(9)), ("zero", "\u00e9", None))
        with self.assertRaises(UnicodeDecodeError):
            m.name_of(2)
        self.assertEqual((m.name_or_error(0), m.name_or_error(9)), ("zero", None))
        with self.assertRaisesRegex(KeyError, "no name"):
            m.name_or_error(-1)


class Buffers(unittest.TestCase):
    def test_read_and_write(self):
        items = array.array("d", [1, 2, 3])
        self.assertEqual(m.sum(items, 3), 6)
        self.assertIsNone(m.scale(items, 3, 10))
        self.assertEqual(list(items), [10, 20, 30])
        self.assertEqual(m.sum(memoryview(items)[1:], 2), 50)
        self.assertEqual(m.slow_sum(items, 3), 60)
        self.assertEqual(m.sum((ctypes.c_double * 2)(1, 2), 2), 3)
        items.append(4)  # raises BufferError if the array is still exported

    def test_address(self):
        items = array.array("d", [1, 2, 3])
        for address in (m.address, m.address_const, m.address_void, m.address_const_void):
            self.assertEqual(address(items), items.buffer_info()[0])
            self.assertEqual(address(memoryview(items)[1:]), items.buffer_info()[0] + 8)
            self.assertEqual(address(None), 0)

    def test_every_item_type(self):
        for code in "bBhHiIlLqQfd":
            first = getattr(m, "first_" + code)
            self.assertEqual(first(array.array(code, [42])), 42.0)
            self.assertEqual(first(memoryview(array.array(code, [43]))), 43.0)
            kind = code.islower() if code not in "fd" else "floating"
            for other in "bBhHiIlLqQfd":
                is_same = (array.array(other).itemsize == array.array(code).itemsize and
                           (other.islower() if other not in "fd" else "floating") == kind)
                items = array.array(other, [44, 0, 0, 0, 0, 0, 0, 0])
                if is_same:
                    self.assertEqual(first(items), 44.0, (code, other))
                    continue
                with self.assertRaisesRegex(TypeError, "a buffer of '%s' items is needed, not of '%s'"
                                            % (code, other), msg=(code, other)):
                    first(items)
        self.assertEqual(m.first_bool(memoryview(b"\1").cast("?")), 1.0)
        self.assertEqual(m.first_bool((ctypes.c_bool * 1)(True)), 1.0)
        with self.assertRaises(TypeError):
            m.first_bool(b"\1")
        for first in (m.first_b, m.first_B):
            self.assertEqual(first(memoryview(b"\5").cast("c")), 5.0)
            self.assertEqual(first(ctypes.create_string_buffer(b"\6")), 6.0)
        self.assertEqual(m.first_B(b"\7"), 7.0)
        self.assertEqual(m.first_B(bytearray(b"\7")), 7.0)

    def test_ctypes(self):
        for name, kind in (("l", ctypes.c_long), ("q", ctypes.c_longlong), ("i", ctypes.c_int),
                           ("H", ctypes.c_ushort), ("f", ctypes.c_float)):
            self.assertEqual(getattr(m, "first_" + name)((kind * 2)(7, 8)), 7.0)
            self.assertEqual(getattr(m, "first_" + name)(kind(9)), 9.0)

        class Swapped(ctypes.BigEndianStructure):
            _fields_ = [("x", ctypes.c_double)]

        for value in ((ctypes.c_double.__ctype_be__ * 1)(1.0), Swapped(1.0)):
            with self.assertRaises(TypeError):
                m.first_d(value)

    def test_complex_items(self):
        items = array.array("d", [1, 2])
        with self.assertRaises(TypeError):
            m.first_imaginary(items)
        self.assertEqual(m.first_imaginary(complex_items(1 + 2j)), 2.0)

    def test_void_takes_any_memory(self):
        for value in (b"A", bytearray(b"A"), memoryview(b"A"), array.array("b", [65]),
                      array.array("l", [65]), (ctypes.c_char * 1)(b"A")):
            self.assertEqual(m.first_byte(value), 65)
        memory = bytearray(b"four")
        m.clear(memory, 3)
        self.assertEqual(memory, b"\0\0\0r")
        memory.append(1)

    def test_read_only(self):
        for value in (b"12345678", memoryview(b"12345678"), memoryview(array.array("d", [1]))
                      .toreadonly()):
            with self.assertRaises(BufferError):
                m.clear(value, 0)
        with self.assertRaises(BufferError):
            m.scale(memoryview(array.array("d", [1])).toreadonly(), 0, 1)
        self.assertEqual(m.sum(memoryview(array.array("d", [1])).toreadonly(), 1), 1)

    def test_not_contiguous(self):
        strided = memoryview(array.array("d", [1, 2, 3, 4]))[::2]
        with self.assertRaises(BufferError):
            m.sum(strided, 2)

    def test_not_aligned(self):
        # In the standard library, only ctypes exports unaligned doubles.
        memory = ctypes.create_string_buffer(17)
        start = 1 if ctypes.addressof(memory) % 8 == 0 else 0
        items = (ctypes.c_double * 1).from_buffer(memory, start)
        if ctypes.addressof(items) % 8:
            with self.assertRaisesRegex(ValueError, "not aligned to 8 bytes"):
                m.sum(items, 0)
            self.assertEqual(m.address_void(items), ctypes.addressof(items))

    def test_other_objects(self):
        for value in (1, 0, 1.5, "text", [1.0], (1.0,), object(), m, len):
            for call in (lambda x: m.sum(x, 0), lambda x: m.scale(x, 0, 1), m.address_void,
                         m.address_const_void):
                with self.assertRaisesRegex(TypeError, "a buffer, a capsule named '.*' or None is "
                                            "needed, not '%s'" % type(value).__name__):
                    call(value)

    def test_buffer_is_released_when_the_next_argument_fails(self):
        items = array.array("d", [1])
        for _ in range(3):
            with self.assertRaises(TypeError):
                m.sum(items, "x")
        items.append(2)


def complex_items(value):
    class Complex(ctypes.Structure):
        _fields_ = [("real", ctypes.c_double), ("imag", ctypes.c_double)]
    # The standard library has no buffers with "Zd" items.
    return capsule(b"&Zd", Complex(value.real, value.imag))


KEPT = []


def capsule(name, pointed_to):
    """Returns a capsule with this name. Keeps the name and the memory alive."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    KEPT.append((name, pointed_to))
    return new(ctypes.addressof(pointed_to), name, None)


class Capsules(unittest.TestCase):
    def test_there_and_back(self):
        for get in (m.get_numbers, m.get_constants):
            self.assertEqual(m.sum(get(), 3), 7.5)
            self.assertEqual(m.address_const(get()), m.address_const_void(m.get_memory()))
        self.assertTrue(m.points_to_none(m.get_object()))
        self.assertEqual(m.first_name(m.get_names()), "a")
        self.assertTrue(m.points_to_numbers(m.get_pointers()))
        self.assertEqual(m.address_void(m.get_numbers()), m.address_void(m.get_memory()))

    def test_names(self):
        for get, name in ((m.get_numbers, "&d"), (m.get_constants, "const &d"), (m.get_memory, "P"),
                          (m.get_constant_memory, "const P"), (m.get_object, "&O"),
                          (m.get_names, "&s"), (m.get_pointers, "&P")):
            self.assertIn('capsule object "%s" at' % name, repr(get()))

    def test_const_is_not_lost(self):
        for call in (lambda: m.scale(m.get_constants(), 3, 1), lambda: m.address(m.get_constants()),
                     lambda: m.address_void(m.get_constants()),
                     lambda: m.address_void(m.get_constant_memory())):
            with self.assertRaisesRegex(TypeError, "not 'const "):
                call()

    def test_void_is_not_typed(self):
        for get in (m.get_memory, m.get_constant_memory):
            with self.assertRaisesRegex(TypeError, "a capsule named 'const &d' is needed, not"):
                m.sum(get(), 0)

    def test_other_names(self):
        number = ctypes.c_double(2)
        self.assertEqual(m.sum(capsule(b"&d", number), 1), 2)
        self.assertEqual(m.first_l(capsule(b"&q", ctypes.c_long(3))), 3)
        for name in (b"&f", b"&l", b"d", b"&&d", b"&dd", b"&", b"", b"const ", b"const const &d",
                     b"&v", b"v", b"Pd", b"& d", b"module.attribute", b"&Zd", b"double *", None):
            with self.assertRaisesRegex(TypeError, "a capsule named 'const &d' is needed", msg=name):
                m.sum(capsule(name, number), 0)
        for name in (b"&v", b"&x", b"&ddd", b"", b"&", b"Q", None):
            with self.assertRaisesRegex(TypeError, "a capsule named 'P' is needed", msg=name):
                m.address_void(capsule(name, number))
        for name in (b"P", b"&Zd", b"&O", b"&?"):
            self.assertEqual(m.address_void(capsule(name, number)), ctypes.addressof(number))

    def test_pointers_to_bools(self):
        memory = bytearray(b"\x03\x00\xff")
        self.assertNotEqual(m.address_bool(memoryview(memory).cast("?")), 0)
        self.assertEqual(memory, b"\x01\x00\x01")
        self.assertNotEqual(m.address_const_bool(memoryview(b"\x01\x00").cast("?")), 0)
        with self.assertRaisesRegex(ValueError, "item 1 of the buffer is not a bool: its byte is 2"):
            m.address_const_bool(memoryview(b"\x01\x02").cast("?"))

    def test_pointer_objects_of_ctypes_are_their_pointers(self):
        numbers = (ctypes.c_double * 3)(1, 2, 3)
        at = ctypes.addressof(numbers)
        function = ctypes.CFUNCTYPE(None)(lambda: None)
        kept = ctypes.py_object(numbers)
        for pointer, wanted in [
                (ctypes.c_void_p(at), at), (ctypes.cast(numbers, ctypes.POINTER(ctypes.c_double)), at),
                (ctypes.pointer(numbers), at), (kept, id(numbers)),
                (function, ctypes.cast(function, ctypes.c_void_p).value)]:
            for call in (m.address_void, m.address_const_void):
                self.assertEqual(call(pointer), wanted, pointer)
        self.assertTrue(m.is_null_void(ctypes.c_void_p()))
        for text in (ctypes.c_char_p(b"x"), ctypes.c_wchar_p("x")):
            self.assertEqual(m.address_const_void(text), ctypes.cast(text, ctypes.c_void_p).value)
            with self.assertRaisesRegex(TypeError, "points to a constant"):
                m.address_void(text)
        # A memoryview of a pointer is memory, not a pointer.
        pointer = ctypes.c_void_p(at)
        self.assertEqual(m.address_void(memoryview(pointer)), ctypes.addressof(pointer))
        for array_of in (numbers, (ctypes.c_void_p * 2)()):
            self.assertEqual(m.address_void(array_of), ctypes.addressof(array_of))

    def test_pointers_to_pointers_are_capsules_only(self):
        for call in (m.points_to_none, m.first_name, m.points_to_numbers):
            for value in (b"12345678", array.array("l", [0]), 0, "x", m.get_numbers()):
                with self.assertRaises(TypeError):
                    call(value)

    def test_none_is_null(self):
        self.assertIsNone(m.get_null())
        self.assertTrue(m.is_null(None) and m.is_null_void(None))
        self.assertFalse(m.is_null(m.get_numbers()) or m.is_null_void(bytearray(1)))


class Leaks(unittest.TestCase):
    def test_references(self):
        items, text, number, pointer = array.array("d", [1.0]), "a" * 40, 1 + 2j, m.get_numbers()
        wrong = array.array("f", [1.0])

        def use():
            m.sum(items, 1), m.scale(items, 1, 1), m.slow_sum(items, 1), m.sum(pointer, 1)
            m.length(text), m.skip_blanks(text), m.times(number, number), m.clear(wrong, 0)
            for call in (lambda: m.sum(wrong, 1), lambda: m.sum(items, text), lambda: m.length(items),
                         lambda: m.times(text, 1), lambda: m.clear(pointer, "x"),
                         lambda: m.slow_sum(items, None)):
                try:
                    call()
                except TypeError:
                    continue
                raise AssertionError("nothing was raised")

        leaks.check(use, 200, warm_up=1, unchanged=(items, text, number, pointer, wrong, None))
        items.append(1), wrong.append(1)
