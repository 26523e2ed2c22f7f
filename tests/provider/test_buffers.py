# Tests functions that take buffers.
import array
import ctypes
import gc
import sys
import unittest

from collected import only_if
import libraries
import provider_buffers_17
import provider_buffers_20

MODULES = (provider_buffers_17, provider_buffers_20)
m = provider_buffers_17
IS_PYPY = sys.implementation.name == "pypy"

# For each element type: its format in a memoryview, and two values.
ELEMENTS = {
    "bool": ("?", (False, True)),
    "b": ("b", (-128, 127)),
    "B": ("B", (0, 255)),
    "h": ("h", (-2 ** 15, 2 ** 15 - 1)),
    "H": ("H", (0, 2 ** 16 - 1)),
    "i": ("i", (-2 ** 31, 2 ** 31 - 1)),
    "I": ("I", (0, 2 ** 32 - 1)),
    "l": ("l", (-2 ** 63, 2 ** 63 - 1)),
    "L": ("L", (0, 2 ** 64 - 1)),
    "q": ("q", (-2 ** 63, 2 ** 63 - 1)),
    "Q": ("Q", (0, 2 ** 64 - 1)),
    "f": ("f", (-0.5, 2.0 ** 100)),
    "d": ("d", (1e-300, -1e300)),
}
SAME_ITEMS = [set("lqn"), set("LQN")]


def made(letters, count=3):
    form, values = ELEMENTS[letters]
    size = memoryview(bytes(8)).cast(form).itemsize
    view = memoryview(bytearray(size * count)).cast(form)
    for i in range(count):
        view[i] = values[i % 2]
    return view


def suits(letters, other):
    form, other_form = ELEMENTS[letters][0], ELEMENTS[other][0]
    return form == other_form or any({form, other_form} <= each for each in SAME_ITEMS)


class Elements(unittest.TestCase):
    def test_every_element_of_every_array(self):
        for module in MODULES:
            for letters, (form, values) in ELEMENTS.items():
                last = getattr(module, "last_" + letters)
                reverse = getattr(module, "reverse_" + letters)
                for other in ELEMENTS:
                    given = made(other, 4)
                    with self.subTest(module=module.__name__, of=letters, given=other):
                        if suits(letters, other):
                            self.assertEqual(last(given), values[1])
                            self.assertIs(type(last(given)), type(values[1]))
                            self.assertEqual(reverse(given), 4)
                            self.assertEqual(given.tolist(), list(values)[::-1] * 2)
                            continue
                        for function in (last, reverse):
                            with self.assertRaisesRegex(
                                TypeError,
                                r"^a buffer of '\S+' items is needed, not of '\S+' \(\d bytes\)$",
                            ):
                                function(given)
                        self.assertEqual(given.tolist(), list(ELEMENTS[other][1]) * 2)

    def test_bytes_that_are_no_bools(self):
        for given in (b"\x00\x03", b"\xff\x01", b"\x02"):
            with self.assertRaisesRegex(ValueError, r"^item \d of the buffer is not a bool: its byte is "):
                m.last_bool(memoryview(given).cast("?"))
        memory = bytearray(b"\x03\x00\xff\x01\x00")
        self.assertEqual(m.reverse_bool(memoryview(memory).cast("?")), 5)
        self.assertEqual(memory, b"\x00\x01\x01\x00\x01")

    def test_ctypes_and_arrays(self):
        self.assertEqual(m.last_d((ctypes.c_double * 3)(1, 2, 3)), 3.0)
        self.assertEqual(m.last_d(array.array("d", [1, 2])), 2.0)
        self.assertEqual(m.last_i(array.array("i", [1, -2])), -2)
        self.assertEqual(m.last_bool((ctypes.c_bool * 2)(False, True)), True)
        whole = array.array("h", range(5))
        self.assertEqual(m.reverse_h(whole), 5)
        self.assertEqual(whole.tolist(), [4, 3, 2, 1, 0])
        # The format "c" is a char, which may be signed or unsigned.
        self.assertEqual(m.last_B((ctypes.c_char * 2)(b"a", b"\xff")), 255)
        self.assertEqual(m.last_b((ctypes.c_char * 2)(b"a", b"\xff")), -1)

    def test_a_part_of_an_array(self):
        whole = memoryview(array.array("d", range(6)))
        self.assertEqual(m.last_d(whole[1:4]), 3.0)
        self.assertEqual(m.reverse_d(whole[2:5]), 3)
        self.assertEqual(whole.tolist(), [0, 1, 4, 3, 2, 5])

    def test_no_elements(self):
        arrays = [array.array("d"), memoryview(array.array("d", [1]))[:0]]
        if sys.version_info >= (3, 10):  # before 3.10, the items of an empty array have size 0
            arrays.append((ctypes.c_double * 0)())
        for empty in arrays:
            self.assertEqual(m.last_d(empty), 0.0)
            self.assertEqual(m.reverse_d(empty), 0)
            self.assertEqual(m.norm(empty), 0.0)
        self.assertEqual(m.fnv(b""), 0xcbf29ce484222325)
        self.assertEqual(m.fnv(bytearray()), 0xcbf29ce484222325)

    def test_std_span(self):
        self.assertEqual(provider_buffers_20.total(array.array("d", [1, 2, 3.5])), 6.5)
        floats = array.array("f", [0] * 3)
        self.assertIsNone(provider_buffers_20.fill(floats, 1.5))
        self.assertEqual(floats.tolist(), [1.5] * 3)


if libraries.is_expected("numpy"):
    import numpy


@only_if(libraries.is_expected("numpy"))
class NumPy(unittest.TestCase):
    def test_complex_and_long(self):
        for letters, dtype in (("Zf", "complex64"), ("Zd", "complex128"), ("Zg", "clongdouble"),
                               ("g", "longdouble")):
            given = numpy.array([1, 2, 3], dtype)
            self.assertEqual(getattr(m, "last_" + letters)(given), 3)
            self.assertEqual(getattr(m, "reverse_" + letters)(given), 3)
            self.assertEqual(given.tolist(), [3, 2, 1])

    def test_shapes(self):
        for shape in ((), (2, 3), (6, 1)):
            with self.assertRaisesRegex(ValueError, "1 dimension is needed, not of %d" % len(shape)):
                m.norm(numpy.ones(shape))
        with self.assertRaises((BufferError, ValueError)):
            m.norm(numpy.ones(6)[::2])


class Bytes(unittest.TestCase):
    def test_a_hash(self):
        expected = 0xcbf29ce484222325
        for byte in b"some bytes":
            expected = (expected ^ byte) * 0x100000001b3 % 2 ** 64

        class Own(bytes):
            pass

        for given in (b"some bytes", bytearray(b"some bytes"), memoryview(b"some bytes"),
                      array.array("B", b"some bytes"), Own(b"some bytes")):
            self.assertEqual(m.fnv(given), expected)
        with self.assertRaisesRegex(TypeError, "^a buffer of 'B' items is needed, not 'str'$"):
            m.fnv("some bytes")

    def test_texts(self):
        self.assertEqual(m.length("\u20ac\0x"), 5)
        self.assertEqual(m.length(""), 0)
        self.assertEqual(m.find("a\0bc", "bc"), 2)
        self.assertEqual(m.count("banana", "an"), 5)
        self.assertEqual(m.bytes_in("four"), 4)
        for wrong in (b"text", bytearray(b"text"), None, 5):
            with self.assertRaisesRegex(TypeError, "a str is needed, not '%s'" % type(wrong).__name__):
                m.length(wrong)
        with self.assertRaises(UnicodeEncodeError):
            m.length("\ud800")


class Refused(unittest.TestCase):
    def test_what_exports_nothing(self):
        for wrong in (None, 5, 1.5, [1.0], (1.0,), "text", object()):
            with self.assertRaisesRegex(
                TypeError, "^a buffer of 'd' items is needed, not '%s'$" % type(wrong).__name__
            ):
                m.norm(wrong)

    def test_writing_to_what_is_read_only(self):
        constant = memoryview(array.array("d", [1, 2])).toreadonly()
        self.assertEqual(m.last_d(constant), 2.0)
        for function, given in ((m.reverse_d, constant), (m.reverse_B, b"bytes")):
            with self.assertRaises((BufferError, ValueError) if IS_PYPY else BufferError):
                function(given)
        self.assertEqual(constant.tolist(), [1, 2])

    def test_what_is_not_contiguous(self):
        with self.assertRaises(BufferError):
            m.norm(memoryview(array.array("d", range(6)))[::2])

    def test_shapes(self):
        square = memoryview(bytearray(32)).cast("d", (2, 2))
        with self.assertRaisesRegex(ValueError, "^a buffer of 1 dimension is needed, not of 2$"):
            m.norm(square)
        with self.assertRaisesRegex(ValueError, "^a buffer of 1 dimension is needed, not of 0$"):
            m.last_d(ctypes.c_double(1.5))

    def test_alignment(self):
        odd = (ctypes.c_double * 2).from_buffer(bytearray(24), 1)
        with self.assertRaisesRegex(ValueError, "^the buffer's items are not aligned to 8 bytes$"):
            m.norm(odd)

    @only_if(not IS_PYPY)  # on PyPy, exceptions from C code have a traceback
    def test_the_argument_is_named(self):
        with self.assertRaisesRegex(
            TypeError, r"^scale\(\) argument 'values': a buffer of 'd' items is needed, not 'int'$"
        ):
            m.scale(5)
        with self.assertRaisesRegex(TypeError, r"^split\(\) argument 'by': a str is needed"):
            m.split("text", by=5)


class Functions(unittest.TestCase):
    def test_more_words_than_registers(self):
        b = array.array("d", [1, 2])
        for module in MODULES:
            given = (0.5, array.array("d", [10, 20]), 100, b, "text", b"\x01\x02", 0.25)
            expected = 0.5 + 30 + 100 + sum(b) + 4 + 3 + 0.25
            self.assertEqual(module.mixed(*given), expected)
        self.assertEqual(b.tolist(), [3, 4])

    def test_one_array_for_both(self):
        both = array.array("d", [1, 2])
        self.assertEqual(m.dot(both, both), 5.0)
        self.assertIsNone(m.add_to(both, 2.0, both))
        self.assertEqual(both.tolist(), [3, 6])

    def test_errors(self):
        one, two = array.array("d", [1]), array.array("d", [1, 2])
        with self.assertRaisesRegex(ValueError, "other lengths"):
            m.dot(one, two)
        with self.assertRaisesRegex(ValueError, "other lengths"):
            m.add_to(one, 1.0, two)
        with self.assertRaisesRegex(ValueError, "nothing to sort"):
            m.is_sorted(array.array("l"))
        self.assertIs(m.is_sorted(array.array("l", [1, 2])), True)
        with self.assertRaisesRegex(ArithmeticError, "alone"):
            m.sets_error(one)
        self.assertEqual(m.sets_error(two), -1.0)
        with self.assertRaisesRegex(IndexError, "nothing is there"):
            m.last_by_status(array.array("l"))
        self.assertEqual(m.last_by_status(array.array("l", [7])), 7)

    def test_what_falls_back(self):
        nothing = array.array("d")
        self.assertEqual(m.mean(array.array("d", [1, 2])), 1.5)
        with self.assertRaisesRegex(ValueError, "no result for these arguments"):
            m.mean(nothing)
        with self.assertRaisesRegex(ValueError, "the mean of nothing"):
            m.mean_otherwise(nothing)
        self.assertEqual(m.index_of(array.array("l", [5, 6]), 6), 1)
        with self.assertRaisesRegex(IndexError, "it is not there"):
            m.index_of(array.array("l", [5, 6]), 7)

    def test_without_the_gil(self):
        self.assertEqual(m.without_gil(array.array("d", [3, 4])), 25.0)

    def test_names_and_defaults(self):
        values = array.array("d", [1, 2])
        m.scale(values)
        m.scale(by=0.5, values=values)
        m.scale(values, 3)
        self.assertEqual(values.tolist(), [3, 6])
        self.assertEqual(m.split("a, b"), 2)
        self.assertEqual(m.split("a, b", by=" "), 2)
        self.assertEqual(m.split("a, b", "x"), 1)
        self.assertIn("by=', '", m.split.__text_signature__)
        self.assertEqual(m.of_module(values), True)

    def test_overloads(self):
        for given, expected in ((array.array("d"), 1), (array.array("f"), 2), (b"", 3),
                                (bytearray(), 3), ("", 4), (1.5, 5), (1, 5), (array.array("i"), 6),
                                (None, 6)):
            self.assertEqual(m.overloaded(given), expected, given)
        with self.assertRaisesRegex(
            TypeError, r"has no overload for \(.*array\); it offers '\*kd->l', '\*kf->l'"
        ):
            m.two_overloads(array.array("i"))
        self.assertEqual(m.two_overloads.__doc__,
                         "two_overloads(buffer of 'd' items) -> int\n"
                         "two_overloads(buffer of 'f' items) -> int")


class GivenBack(unittest.TestCase):
    """While an array is exported, it cannot grow."""

    def setUp(self):
        self.values = array.array("d", [1, 2])
        self.other = array.array("d", [1])

    def check(self):
        gc.collect()
        for each in (self.values, self.other):
            try:
                each.append(1.0)
            except BufferError as error:
                self.fail("a call has kept the array: %s" % error)
            self.assertEqual(each.pop(), 1.0)

    def test_after_every_call(self):
        for call in (
            lambda: m.norm(self.values),
            lambda: m.reverse_d(self.values),
            lambda: m.mixed(0, self.values, 1, self.other, "", b"", 0),
            lambda: m.dot(self.values, self.other),
            lambda: m.add_to(self.values, 1.0, self.other),
            lambda: m.sets_error(self.other),
            lambda: m.mean(self.values),
            lambda: m.without_gil(self.values),
            lambda: m.scale(self.values),
            lambda: m.scale(self.values, "text"),
            lambda: m.overloaded(self.values),
            lambda: m.last_i(self.values),
            lambda: m.norm(memoryview(self.values)[::2]),
            lambda: m.mixed(0, self.values, 1, self.other, "", b"", "no float"),
            lambda: m.mixed(0, self.values, 1, self.other, 5, b"", 0),
            lambda: m.two_overloads(array.array("i"), self.values),
        ):
            for _ in range(3):
                try:
                    call()
                except (TypeError, ValueError, BufferError, ArithmeticError):
                    pass
                self.check()

    @only_if(not IS_PYPY)  # PyPy can resize an exported array
    def test_exported_during_the_call(self):
        with self.assertRaises(BufferError):
            view = memoryview(self.values)
            self.values.append(1.0)
        del view
