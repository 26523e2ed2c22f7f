# Tests exceptions, results that happen to equal the error value, and reference counts.
import sys
import unittest

from collected import only_if
import provider_errors as m

SIGNED = ["schar", "short", "int", "long"]
UNSIGNED = [("uchar", 8), ("ushort", 16), ("uint", 32), ("ulong", 64)]


class ErrorValues(unittest.TestCase):
    def test_exception(self):
        for name in SIGNED + [name for name, _ in UNSIGNED] + ["float", "double"]:
            with self.subTest(type=name):
                for _ in range(3):
                    with self.assertRaisesRegex(ArithmeticError, "it is 42"):
                        getattr(m, name)(42)
                    self.assertEqual(getattr(m, name)(41), 41)

    def test_the_same_value_without_exception(self):
        for name in SIGNED:
            self.assertEqual(getattr(m, name)(-1), -1, name)
        for name, bits in UNSIGNED:
            self.assertEqual(getattr(m, name)(2 ** bits - 1), 2 ** bits - 1, name)
        for name in ("float", "double"):
            self.assertEqual(getattr(m, name)(-1.0), -1.0, name)

    def test_pending_exception_of_the_caller(self):
        try:
            raise KeyError
        except KeyError:
            self.assertEqual(m.long(-1), -1)
            with self.assertRaises(ArithmeticError) as caught:
                m.long(42)
        self.assertIsInstance(caught.exception.__context__, KeyError)

    def test_error_of_the_c_api(self):
        self.assertEqual(m.length([1, 2]), 2)
        with self.assertRaisesRegex(TypeError, "has no len"):
            m.length(1)


class Exceptions(unittest.TestCase):
    KINDS = [
        (0, MemoryError, ""), (1, IndexError, "out of range"), (2, OverflowError, "overflow"),
        (3, ValueError, "invalid"), (4, ValueError, "domain"), (5, ValueError, "length"),
        (6, RuntimeError, "runtime \u00e9"), (7, RuntimeError, "stream"),
        (8, RuntimeError, "range"), (9, RuntimeError, "unknown C[+][+] exception"),
    ]

    def test_kinds(self):
        for kind, error, text in self.KINDS:
            for call in (m.throw_long, m.throw_unsigned, m.throw_object,
                         lambda kind: m.throw_double(kind, 1.0)):
                with self.assertRaisesRegex(error, text) as caught:
                    call(kind)
                self.assertIs(type(caught.exception), error)

    def test_text_that_is_no_utf_8(self):
        for call in (m.throw_long, m.throw_object):
            with self.assertRaises(IndexError) as caught:
                call(10)
            self.assertEqual(str(caught.exception), r"\xffno UTF-8\xc3")
            with self.assertRaises(RuntimeError) as caught:
                call(11)
            self.assertEqual(str(caught.exception), "")

    def test_without_arguments(self):
        with self.assertRaisesRegex(RuntimeError, "runtime"):
            m.throw_nothing()

    def test_results_of_functions_that_could_throw(self):
        self.assertEqual((m.throw_long(-1), m.throw_long(-2)), (-1, -2))


class SetsAndReturns(unittest.TestCase):
    """Tests functions that set a Python exception and do not throw."""

    def test_numbers(self):
        for name in ("schar", "ulong", "float", "double", "bool"):
            call = getattr(m, "set_" + name)
            for _ in range(2):
                with self.assertRaisesRegex(ArithmeticError, "it is 42") as caught:
                    call(42)
                self.assertIsNone(caught.exception.__cause__)
                self.assertEqual(call(1), 1)

    def test_pointers(self):
        with self.assertRaisesRegex(ArithmeticError, "it is 42"):
            m.set_text()
        value = object()
        before = sys.getrefcount(value)
        for _ in range(100):
            with self.assertRaises(LookupError) as caught:
                m.set_object(value)
            self.assertIs(caught.exception.args[0], value)
            del caught
        self.assertEqual(sys.getrefcount(value), before)


class Objects(unittest.TestCase):
    def test_identity(self):
        for value in (None, 1, "x", [], object(), m):
            self.assertIs(m.identity(value), value)
            self.assertIs(m.second("other", value, 1), value)
        self.assertTrue(m.is_none(None))
        self.assertFalse(m.is_none(0))

    def test_references(self):
        value, other = object(), object()
        before = sys.getrefcount(value), sys.getrefcount(other)
        for _ in range(100):
            m.identity(value)
            m.second(other, value, 1)
            m.is_none(value)
            with self.assertRaises(TypeError):
                m.length(value)
            with self.assertRaises(OverflowError):
                m.second(value, other, 2 ** 100)
        self.assertEqual((sys.getrefcount(value), sys.getrefcount(other)), before)

    def test_new_object(self):
        fresh = m.new_list()
        # Only some versions count the variable and the argument as references.
        plain = []
        self.assertEqual(sys.getrefcount(fresh), sys.getrefcount(plain))
        self.assertIsNot(fresh, m.new_list())

    def test_null(self):
        value = object()
        before = sys.getrefcount(value)
        for _ in range(100):
            try:
                m.null_with_exception(value)
            except LookupError as error:
                self.assertIs(error.args[0], value)
            else:
                self.fail("nothing was raised")
        self.assertEqual(sys.getrefcount(value), before)

    @only_if(not hasattr(sys, "gettotalrefcount"))  # NULL without an exception aborts debug builds
    def test_null_without_exception(self):
        with self.assertRaises(SystemError):
            m.null_alone()
