"""typedcall.sql: typed functions as functions of SQLite, on connections of sqlite3 and of APSW."""

import contextlib
import gc
import importlib
import math
import resource
import signal
import sys
import threading
import unittest
import weakref

import adapter_support
import support
import typedcall
from typedcall import Flags

if support.IS_PYPY:
    raise unittest.SkipTest("typedcall.sql is CPython's")
from typedcall import sql  # noqa: E402

try:
    from typedcall.sql import _sqlite
except ImportError as error:
    raise unittest.SkipTest("the package was built without sqlite3ext.h (%s)" % error) from None

functions = support.build("typed_functions")
buffers = support.build("buffer_provider")
fallbacks = support.build("fallback_functions")
SERIES = """with recursive series(i) as (select 0 union all select i + 1 from series where i < {} - 1)
            select {} from series"""


class Functions:
    """What both engines are to show."""

    def setUp(self):
        self.connection = self.connect()
        self.addCleanup(self.connection.close)

    def register(self, f, **options):
        sql.register(self.connection, f, **options)

    def query(self, text, *values):
        return list(self.connection.execute(text, values))

    def value(self, text, *values):
        (row,) = self.query("select " + text, *values)
        return row[0]

    def refuses(self, message, text, *values):
        with self.assertRaisesRegex(Exception, message) as caught:
            self.value(text, *values)
        self.assertEqual(type(caught.exception).__module__, self.module.__name__)

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

    def tagged(self, f, signature="d->d", of=functions.half, flags=None):
        """A Python function behind the native one of another: its own results show who was called."""
        entry = next(each for each in typedcall.entries(of) if each.signature == signature)
        typedcall.tag(f, signature, entry.address, flags=entry.flags if flags is None else flags)
        self.addCleanup(typedcall.untag, f)
        return f

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

    def test_what_cannot_be_registered(self):
        for f, message in [(functions.turn, "'Zd->Zd' has an argument 'Zd', for which SQL"),
                           (functions.same_object, "has nothing for SQL"),
                           (functions.sum_of, "'&dl->d' has an argument '&d'"),
                           (buffers.norm, "has an argument '.*kd'"),
                           (len, "it offers no typed function")]:
            with self.assertRaisesRegex(TypeError, message):
                self.register(f)
        with self.assertRaisesRegex(TypeError, "a name is a str, not 'int'"):
            self.register(functions.inc, name=3)
        with self.assertRaisesRegex(TypeError, "loads no extensions"):
            sql.register(object(), functions.inc)

    def test_extensions_are_loaded_as_little_as_before(self):
        def why_not():
            with self.assertRaises(Exception) as caught:
                self.connection.load_extension(_sqlite.__file__)
            return str(caught.exception)

        # Where SQLite is built so, they may be loaded from the beginning.
        before = why_not()
        self.assertRegex(before, "not authorized|added by typedcall.sql.register")
        self.register(functions.inc)
        self.assertEqual(why_not(), before)
        self.connection.enable_load_extension(False)
        self.register(functions.inc)
        self.assertRegex(why_not(), "not authorized")
        with self.assertRaises(Exception):
            self.value("load_extension(?)", _sqlite.__file__)
        self.connection.enable_load_extension(True)
        self.register(functions.half)
        self.assertRegex(why_not(), "added by typedcall.sql.register")
        self.assertEqual(self.value("inc(1)"), 2)

    def test_a_connection_that_is_closed(self):
        self.connection.close()
        with self.assertRaises(Exception):
            self.register(functions.inc)
        with self.assertRaises(Exception):
            self.value("inc(1)")

    def test_the_connection_keeps_the_function_and_lets_go_of_it(self):
        for end in ("another", "close", "unregister"):
            connection = self.connect()

            def f(x):
                return x

            reference = weakref.ref(f)
            entry = typedcall.entries(functions.half)[0]
            typedcall.tag(f, "d->d", entry.address, flags=entry.flags)
            sql.register(connection, f)
            del f
            gc.collect()
            self.assertIsNotNone(reference())
            self.assertEqual(list(connection.execute("select f(8.0), f('x')")), [(4.0, "x")])
            if end == "another":
                sql.register(connection, functions.half, name="f")
                self.assertEqual(list(connection.execute("select f(6.0)")), [(3.0,)])
            elif end == "unregister":
                self.unregister(connection, "f", 1)
                # Python 3.11's sqlite3 has a function that fails there.
                with self.assertRaisesRegex(Exception, "no such function|raised exception"):
                    list(connection.execute("select f(8.0)"))
            else:
                connection.close()
            gc.collect()
            self.assertIsNone(reference(), end)
            connection.close()

    def test_replaced_in_the_middle_of_a_query(self):
        self.register(functions.inc)
        rows = iter(self.connection.execute(SERIES.format(10, "inc(i)")))
        self.assertEqual(next(rows), (1,))
        with self.assertRaisesRegex(Exception, "active statements"):
            self.register(functions.half, name="inc")
        self.assertEqual([row[0] for row in rows], list(range(2, 11)))
        self.register(functions.half, name="inc")
        self.assertEqual(self.value("inc(5)"), 2.5)

    def test_closed_by_the_function_itself(self):
        if self.module.__name__ == "sqlite3":
            self.skipTest("crashes in CPython's sqlite3, with its own create_function(), too")

        def f(x):
            self.connection.close()
            return 1

        self.register(self.tagged(f))
        with contextlib.suppress(Exception):  # as the engine says
            self.value("f('x')")

    def test_interrupted(self):
        def f(x):
            self.connection.interrupt()
            return 1

        self.register(self.tagged(f))
        self.register(functions.inc)
        with self.assertRaisesRegex(Exception, "(?i)interrupt"):
            self.query(SERIES.format(10**6, "sum(case when i = 1000 then f('x') else inc(i) end)"))
        self.assertEqual(self.value("inc(1)"), 2)

    def test_used_in_another_thread(self):
        self.register(functions.half)
        self.register(functions.check, name="typed_check")
        found = []

        def run():
            for text in ("half(5)", "typed_check(5)", "half('x')"):
                try:
                    found.append(self.value(text))
                except Exception as error:
                    found.append("TypeError" in str(error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        self.assertEqual(found, [2.5, 5, True])

    def test_connections_at_once(self):
        def run(found):
            connection = self.connect()
            for f in (functions.inc, functions.check, fallbacks.root):
                sql.register(connection, f, name="typed_" + f.__name__)
            (row,) = connection.execute(SERIES.format(
                20000, "sum(typed_inc(i)) + sum(typed_check(i + 14)) + sum(typed_root(i * i))"))
            found.append(row[0])
            connection.close()

        found = []
        threads = [threading.Thread(target=run, args=(found,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [3.0 * sum(range(20000)) + 15 * 20000] * 4)

    def test_a_million_rows_leak_nothing(self):
        self.register(functions.same_text)
        self.register(functions.inc)
        self.register(functions.invert)
        self.register(buffers.utf8_length)
        text = "sum(utf8_length(same_text('a text ' || i)) + inc(i) + invert(i + 1))"

        def memory():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        self.query(SERIES.format(10**5, text))
        blocks, before = sys.getallocatedblocks(), memory()
        self.query(SERIES.format(10**6, text))
        self.assertLess(sys.getallocatedblocks() - blocks, 1000)
        self.assertLess(memory() - before, 20000)  # kilobytes

    def test_errors_and_registrations_leak_nothing(self):
        def run(count):
            for _ in range(count):
                self.register(functions.inc)
                self.register(fallbacks.root)
                for text in ("inc('x')", "root(-1)"):
                    with contextlib.suppress(Exception):
                        self.value(text)

        run(20)
        gc.collect()
        blocks = sys.getallocatedblocks()
        references = sys.getrefcount(functions.inc)
        run(500)
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - blocks, 250)
        self.assertEqual(sys.getrefcount(functions.inc), references)


class OfPython(Functions, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = importlib.import_module("sqlite3")
        if not hasattr(cls.module.Connection, "load_extension"):
            raise unittest.SkipTest("this Python's sqlite3 was built without loadable extensions")

    def connect(self):
        return self.module.connect(":memory:", check_same_thread=False)

    def unregister(self, connection, name, count):
        connection.create_function(name, count, None)


class OfApsw(Functions, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = adapter_support.library("apsw")

    def connect(self):
        return self.module.Connection(":memory:")

    def unregister(self, connection, name, count):
        connection.create_scalar_function(name, None, count)


class TheExample(adapter_support.Example):
    def test_it_runs(self):
        if not hasattr(importlib.import_module("sqlite3").Connection, "load_extension"):
            adapter_support.library("apsw")
        printed = self.run_example("sql")
        self.assertIn("Oslo 1341.0 2", printed)
        self.assertIn("ValueError: no place on the earth", printed)


class Both(unittest.TestCase):
    def test_two_libraries_in_one_process(self):
        apsw = adapter_support.library("apsw")
        sqlite3 = importlib.import_module("sqlite3")
        if not hasattr(sqlite3.Connection, "load_extension"):
            self.skipTest("this Python's sqlite3 was built without loadable extensions")
        connections = apsw.Connection(":memory:"), sqlite3.connect(":memory:")
        for connection in connections * 2:
            sql.register(connection, functions.inc)
            sql.register(connection, functions.check, name="typed_check")
        for connection in connections * 2:
            self.assertEqual(list(connection.execute("select inc(1), typed_check(2)")), [(2, 2)])
            with self.assertRaisesRegex(Exception, "thirteen"):
                list(connection.execute("select typed_check(13)"))

    def test_sqlite3_that_loads_nothing_is_named(self):
        sqlite3 = importlib.import_module("sqlite3")
        if hasattr(sqlite3.Connection, "load_extension"):
            self.skipTest("this Python's sqlite3 loads extensions")
        connection = sqlite3.connect(":memory:")
        self.addCleanup(connection.close)
        with self.assertRaisesRegex(TypeError, "'sqlite3.Connection' loads no extensions"):
            sql.register(connection, functions.inc)

    def test_the_end_of_the_interpreter(self):
        for engine in ("sqlite3", "apsw"):
            with self.subTest(engine=engine):
                status, output, errors = support.python("-c", END % (
                    str(support.MODULES.parent), engine))
                self.assertEqual((status, output.strip()), (0, "2"), errors)


# The connection, and what it keeps, outlive everything.
END = """
import sys
sys.path.insert(0, %r)
try:
    import %s as engine
    if not hasattr(engine.Connection, "load_extension"):
        raise ImportError
except ImportError:
    print(2)
    sys.exit()
import atexit, support
from typedcall import sql
functions = support.build("typed_functions")
connect = getattr(engine, "connect", engine.Connection)
connection = connect(":memory:")
sql.register(connection, functions.inc)
sql.register(connection, functions.check, name="typed_check")
class Last:
    def __del__(self, connection=connection):
        for text in ("inc(1)", "typed_check(1)", "inc('x')"):
            try:
                list(connection.execute("select " + text))
            except Exception:
                pass
sys.last_one = last = Last()
last.me = last
print(list(connection.execute("select inc(1)"))[0][0])
"""


if __name__ == "__main__":
    unittest.main()
