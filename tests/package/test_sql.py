"""Tests the results of typed functions in SQLite."""

import math
import unittest

import sql_connection
import sql_support
import support
import typedcall
from sql_support import SERIES, buffers, fallbacks, functions
from typedcall import Flags


class Functions(sql_connection.Values):
    """Tests for both SQLite modules."""

    def test_null_and_nan(self):
        for f in (functions.inc, functions.mix, functions.same_text, fallbacks.root):
            self.register(f)
        self.register(functions.half)
        # The result is NULL even if another argument is wrong.
        for text in ("inc(NULL)", "mix(1, NULL, 3, 4)", "same_text(NULL)", "root(NULL)",
                     "mix('x', 1, 1, NULL)"):
            self.assertIsNone(self.value(text), text)
        # SQLite has no nan and uses NULL instead.
        self.assertIsNone(self.value("half(?)", math.nan))
        self.assertIsNone(self.value("half(9e999 - 9e999)"))
        self.register(functions.power)
        self.assertIsNone(self.value("power(-1.0, 0.5)"))

    def test_entries_without_a_value_in_sql_are_chosen_among(self):
        def pick(x):
            return -1.0 if isinstance(x, int) else x / 2

        half, = typedcall.entries(functions.half)
        typedcall.tag(pick, ["l->O", half.signature], [half.address] * 2, flags=[Flags.NEEDS_THREAD, half.flags])

        def by_count(*given):
            if len(given) == 1 and not isinstance(given[0], bool):
                raise TypeError("no overload")
            return True

        negate, = typedcall.entries(functions.negate)
        mix, = typedcall.entries(functions.mix)
        typedcall.tag(by_count, [negate.signature, mix.signature], [negate.address, mix.address],
                      flags=[negate.flags, mix.flags])
        for f in (pick, by_count):
            self.addCleanup(typedcall.untag, f)
            self.register(f)
        self.assertEqual([self.value("pick(3)"), self.value("pick(3.0)")], [-1.0, 1.5])
        # The only overload with one argument takes a bool.
        with self.assertRaisesRegex(Exception, "no overload"):
            self.value("by_count(1)")

    def test_python_answers_for_a_number_of_arguments_without_a_value_in_sql(self):
        calls = []

        def f(*given):
            calls.append(given)
            return float(len(given))

        half, = typedcall.entries(functions.half)
        typedcall.tag(f, [half.signature, "Zdi->Zd", "Zdid->Zd"], [half.address] * 3,
                      flags=[half.flags, half.flags, half.flags | Flags.DIFFERS])
        self.addCleanup(typedcall.untag, f)
        self.register(f, name="f")
        self.assertEqual([self.value("f(3.0)"), self.value("f(3.0, 4)"), self.value("f(3.0, 4, 5.0)")], [1.5, 2.0, 3.0])
        self.assertEqual(calls, [(3.0, 4), (3.0, 4, 5.0)])
        self.assertIsNone(self.value("f(3.0, NULL)"))
        with self.assertRaisesRegex(Exception, "wrong number of arguments"):
            self.value("f()")

    def test_text_of_a_database_in_utf16(self):
        self.query("pragma encoding = 'UTF-16'")
        self.query("create table texts(x)")
        self.register(functions.same_text)
        self.register(buffers.utf8_length)
        for text in ("", "h\u00e4", "\U0001f40d" * 30):
            self.query("insert into texts values (?)", text)
            self.assertEqual(self.query("select same_text(x), utf8_length(x) from texts"),
                             [(text, len(text.encode()))])
            self.query("delete from texts")

    def test_text_that_is_no_utf8(self):
        self.register(buffers.utf8_length)
        self.register(functions.same_text)
        for data in (b"\xff", b"1234567\x80", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80",
                     b"\xf4\x90\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xc3"):
            with self.assertRaises(UnicodeDecodeError):
                data.decode()
            for name in ("utf8_length", "same_text"):
                self.refuses("UnicodeDecodeError: 'utf-8' codec can't decode",
                             "%s(CAST(? AS TEXT))" % name, data)
        for data in (b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf0\x90\x80\x80",
                     b"\xe0\xa0\x80", b"\xc2\x80"):
            self.assertEqual(self.value("same_text(CAST(? AS TEXT))", data), data.decode())

    def test_every_second_and_third_byte_of_utf8_is_as_python_says(self):
        self.register(buffers.utf8_length)
        candidates = [bytes([a, b, *rest]) for a in range(0x80, 256) for b in (
            0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0) for rest in ((), (0x80,), (0x80, 0xBF))]
        for data in candidates:
            try:
                expected = len(data.decode().encode())
            except UnicodeDecodeError:
                expected = None
            try:
                found = self.value("utf8_length(CAST(? AS TEXT))", data)
            except Exception:
                found = None
            self.assertEqual(found, expected, data)

    def test_blobs(self):
        self.register(buffers.hash)
        blobs = [b"", b"a\0b", bytes(range(256)) * 100] + [b"blob %d" % i for i in range(20)]
        large = [data for data in blobs if buffers.hash(data) >= 2**63]
        self.assertTrue(0 < len(large) < len(blobs))
        for data in blobs:
            if data in large:
                self.refuses("OverflowError: too large for an INTEGER of SQLite", "hash(?)", data)
            else:
                self.assertEqual(self.value("hash(?)", data), buffers.hash(data))
        self.refuses("TypeError", "hash('text')")

    def test_exceptions_in_the_middle_of_a_result(self):
        self.register(functions.check, name="typed_check")
        with self.assertRaisesRegex(Exception, "ValueError: thirteen"):
            self.query(SERIES.format(20, "typed_check(i)"))

    def test_results_of_python_code(self):
        given = []
        f = self.tagged(lambda x: given.pop())
        self.register(f, name="f")
        for result, message in [(2**63, "OverflowError"), ([], "TypeError: SQLite has no value for "
                                                          "'list'"), ("\ud800", "UnicodeEncode")]:
            given.append(result)
            self.refuses(message, "f('x')")
        self.refuses("IndexError: pop from empty list", "f('x')")

    def test_deterministic_from_pure(self):
        self.query("create table t(x)")
        self.register(functions.same_text)
        with self.assertRaisesRegex(Exception, "non-deterministic"):
            self.query("create index wrong on t(same_text(x))")
        self.assertTrue(all(e.flags & Flags.PURE for e in typedcall.entries(functions.inc)))
        self.register(functions.inc)
        self.query("create index right on t(inc(x))")


@support.only_if(support.SQLITE3_LOADS)
class OfPython(sql_support.OfPython, Functions, unittest.TestCase):
    pass


class OfApsw(sql_support.OfApsw, Functions, unittest.TestCase):
    pass
