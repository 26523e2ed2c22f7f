"""typedcall.sql: what typed functions give as functions of SQLite, for all kinds of values and errors."""

import ctypes
import math
import os
import signal
import unittest

import sql_support
import support
import typedcall
from sql_support import SERIES, buffers, fallbacks, functions
from typedcall import Flags


class Functions(sql_support.Connection):
    """What both engines are to show."""

    def test_numbers(self):
        for name in ("inc", "half", "half_float", "negate", "mix", "counted", "count"):
            self.register(getattr(functions, name))
        self.assertEqual(self.value("inc(41)"), 42)
        self.assertIs(type(self.value("inc(41)")), int)
        self.assertEqual(self.value("inc(?)", 2**63 - 1), -(2**63))
        self.assertEqual(self.value("half(7)"), 3.5)
        self.assertEqual(self.value("half(?)", math.inf), math.inf)
        self.assertEqual(self.value("half_float(3)"), 1.5)
        self.assertEqual([self.value("negate(%d)" % n) for n in (0, 1, 2)], [1, 0, 0])
        self.assertEqual(self.value("mix(1.5, 2, 3, 4)"), functions.mix(1.5, 2, 3, 4))
        self.assertIs(type(self.value("counted()")), int)
        self.assertIsNone(self.value("count()"))

    def test_null_and_nan(self):
        for f in (functions.inc, functions.mix, functions.same_text, fallbacks.root):
            self.register(f)
        self.register(functions.half)
        # Also beside a value that the C function does not take.
        for text in ("inc(NULL)", "mix(1, NULL, 3, 4)", "same_text(NULL)", "root(NULL)",
                     "mix('x', 1, 1, NULL)"):
            self.assertIsNone(self.value(text), text)
        # SQLite has no nan: it is NULL where it comes in, and where it comes out.
        self.assertIsNone(self.value("half(?)", math.nan))
        self.assertIsNone(self.value("half(9e999 - 9e999)"))
        self.register(functions.power)
        self.assertIsNone(self.value("power(-1.0, 0.5)"))

    def test_narrow_integers_are_what_python_says(self):
        for name in ("next_char", "next_byte", "next_size"):
            self.register(getattr(functions, name))
        self.assertEqual([self.value("next_char(%d)" % n) for n in (-128, 126, 127)],
                         [-127, 127, -128])
        self.assertEqual([self.value("next_byte(%d)" % n) for n in (0, 255)], [1, 0])
        for text, message in [
                ("next_char(128)", "OverflowError: Python int does not fit a signed integer of 1"),
                ("next_char(-129)", "OverflowError: Python int does not fit a signed integer of 1"),
                ("next_byte(256)", "OverflowError: Python int does not fit an unsigned integer"),
                ("next_byte(-1)", "OverflowError"),
                ("next_size(-1)", "OverflowError"),
                ("next_size(9223372036854775807)", "OverflowError: too large for an INTEGER")]:
            self.refuses(message, text)

    def test_a_wrong_type_or_count_is_an_error(self):
        self.register(functions.inc)
        self.register(functions.half)
        self.register(functions.same_text)
        self.refuses("TypeError: 'float' object cannot be interpreted as an integer", "inc(1.5)")
        self.refuses("TypeError: 'str' object", "inc('1')")
        self.refuses("TypeError", "half(x'00')")
        self.refuses("TypeError", "same_text(1)")
        for text in ("inc()", "inc(1, 2)"):
            self.refuses("wrong number of arguments to function inc", text)
        self.assertEqual(self.value("inc(1)"), 2)  # nothing is left behind

    def test_overloads(self):
        self.register(functions.power)
        self.assertEqual([self.value("power(3.0)"), self.value("power(2, 10)")], [9.0, 1024.0])
        self.register(functions.absolute)
        self.assertEqual(repr([self.value("absolute(-2)"), self.value("absolute(-2.5)")]),
                         "[2, 2.5]")

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
        # A number is no bool for the one of two overloads that takes one argument.
        with self.assertRaisesRegex(Exception, "no overload"):
            self.value("by_count(1)")

    def test_text(self):
        self.register(functions.same_text)
        self.register(buffers.utf8_length)
        text = "h\u00e4, \u20ac, \U0001f40d, " + "long enough for eight bytes at a time"
        self.assertEqual(self.value("same_text(?)", text), text)
        self.assertEqual(self.value("same_text('')"), "")
        self.assertEqual(self.value("utf8_length(?)", text), len(text.encode()))
        self.assertEqual(self.value("utf8_length('')"), 0)
        # A NUL is a character where the length says how long the text is.
        self.assertEqual(self.value("utf8_length(?)", "a\0b"), 3)
        self.refuses("ValueError: embedded null character", "same_text(?)", "a\0b")

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

    def test_text_results_that_are_null_or_no_utf8(self):
        getenv = ctypes.cast(ctypes.CDLL(None).getenv, ctypes.c_void_p).value
        self.addCleanup(os.environ.pop, "TYPEDCALL_TEXT", None)
        # In each of the ways in which C functions are called.
        for flags in (0, Flags.THREAD_SAFE, Flags.ACQUIRES_GIL):
            def variable(name):
                return "boxed"

            typedcall.tag(variable, "s->s", getenv, flags=flags)
            self.addCleanup(typedcall.untag, variable)
            self.register(variable)
            os.environ.pop("TYPEDCALL_TEXT", None)
            self.assertIsNone(self.value("variable('TYPEDCALL_TEXT')"), flags)
            for data in (b"caf\xe9", b"\xed\xa0\x80", b"1234567\xc3", b"\xc0\xaf"):
                os.environb[b"TYPEDCALL_TEXT"] = data
                self.refuses("UnicodeDecodeError: the result is no UTF-8", "variable('TYPEDCALL_TEXT')")
            for text in ("", "h\u00e4, \u20ac, \U0001f40d"):
                os.environ["TYPEDCALL_TEXT"] = text
                self.assertEqual(self.value("variable('TYPEDCALL_TEXT')"), text)

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

    def test_exceptions(self):
        for name in ("div", "check", "invert", "expect"):
            self.register(getattr(functions, name), name="typed_" + name)
        self.assertEqual(self.value("typed_div(1, 4)"), 0.25)
        self.assertEqual(self.value("typed_div(-1, 1)"), -1.0)  # the error value, and no error
        self.assertEqual(self.value("typed_check(12)"), 12)
        self.assertEqual(self.value("typed_invert(4)"), 0.25)
        self.assertIsInstance(self.value("typed_expect(0)"), (int, type(None)))
        for text, message in [("typed_div(1, 0)", "ZeroDivisionError: division by zero"),
                              ("typed_check(13)", "ValueError: thirteen"),
                              ("typed_invert(0)", "ZeroDivisionError: division by zero"),
                              ("typed_expect(-1)", "ValueError: negative")]:
            self.refuses(message, text)
        # In the middle of a result.
        with self.assertRaisesRegex(Exception, "ValueError: thirteen"):
            self.query(SERIES.format(20, "typed_check(i)"))

    def test_what_falls_back_gives_what_python_gives(self):
        for f in (fallbacks.root, fallbacks.square, fallbacks.half):
            self.register(f)
        self.assertEqual(self.value("root(4.0)"), 2.0)
        self.assertEqual(self.value("square(3)"), 9)
        for f, argument in ((fallbacks.root, -1.0), (fallbacks.half, -1.0)):
            try:
                expected = f(argument)
            except Exception as error:
                self.refuses(type(error).__name__, "%s(?)" % f.__name__, argument)
            else:
                self.assertEqual(self.value("%s(?)" % f.__name__, argument), expected)

    def test_results_of_python_code(self):
        given = []
        f = self.tagged(lambda x: given.pop())
        self.register(f, name="f")
        self.assertEqual(self.value("f(8.0)"), 4.0)
        for result in (None, 3, -2**63, 2.5, "t\u00e4xt", "a\0b", b"bytes", b"", True):
            given.append(result)
            self.assertEqual(self.value("f('x')"), result)
        for result, message in [(2**63, "OverflowError"), ([], "TypeError: SQLite has no value for "
                                                          "'list'"), ("\ud800", "UnicodeEncode")]:
            given.append(result)
            self.refuses(message, "f('x')")
        self.refuses("IndexError: pop from empty list", "f('x')")

    def test_texts_of_exceptions(self):
        raised = []

        def f(x):
            raise raised.pop()

        self.register(self.tagged(f))

        class Mute(Exception):
            def __str__(self):
                raise RuntimeError

        for exception, message in [(ValueError(), "^(.*: )?ValueError$"), (Mute(), "Mute$"),
                                   (KeyError("k\u00e4se"), "KeyError: 'k\u00e4se'"),
                                   (ValueError("\udc80"), r"ValueError: \\udc80"),
                                   (SystemExit(3), "SystemExit: 3")]:
            raised.append(exception)
            self.refuses(message, "f('x')")
        raised.append(MemoryError())
        with self.assertRaises(Exception) as caught:  # each engine has its own for that
            self.value("f('x')")
        self.assertIn(type(caught.exception).__name__, ("MemoryError", "NoMemError"))

    def test_an_interrupt_in_python_code_is_not_lost(self):
        def f(x):
            raise KeyboardInterrupt

        # A shell's background job ignores it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.register(self.tagged(f))
        with self.assertRaises(KeyboardInterrupt):
            try:
                self.value("f('x')")
            except Exception as error:
                self.assertIn("interrupt", str(error).lower())
            for _ in range(1000):
                pass

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


if __name__ == "__main__":
    unittest.main()
