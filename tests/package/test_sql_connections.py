"""Tests typedcall.sql with connections to SQLite: loading, closing, threads and leaks."""

import contextlib
import importlib
import threading
import unittest

import adapter_support
import sql_connection
import sql_support
import support
import typedcall
from sql_support import SERIES, buffers, fallbacks, functions
from support import leaks
from typedcall import sql
from typedcall.sinks.sql import _sqlite


class Functions(sql_connection.Connections):
    """Tests for both SQLite modules."""

    def test_names_and_connections_that_are_refused(self):
        with self.assertRaisesRegex(ValueError, "255 bytes"):
            self.register(functions.inc, name=127 * "\u00e4" + "xx")
        self.register(functions.inc, name=255 * "x")
        self.assertEqual(self.value(255 * "x" + "(1)"), 2)
        with self.assertRaisesRegex(TypeError, "cannot load SQLite extensions"):
            sql.register(object(), functions.inc)

    def test_extensions_are_loaded_as_little_as_before(self):
        def why_not():
            with self.assertRaises(Exception) as caught:
                self.connection.load_extension(_sqlite.__file__)
            return str(caught.exception)

        # Some builds of SQLite allow loading by default.
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

    def test_replaced_in_the_middle_of_a_query(self):
        self.register(functions.inc)
        rows = iter(self.connection.execute(SERIES.format(10, "inc(i)")))
        self.assertEqual(next(rows), (1,))
        with self.assertRaisesRegex(Exception, "active statements"):
            self.register(functions.half, name="inc")
        self.assertEqual([row[0] for row in rows], list(range(2, 11)))
        self.register(functions.half, name="inc")
        self.assertEqual(self.value("inc(5)"), 2.5)

    def test_all_of_a_function_or_nothing(self):
        def f(*args):
            return None

        found = [next(each for each in typedcall.entries(function) if each.signature == signature)
                 for function, signature in ((functions.add, "dd->d"), (functions.half, "d->d"))]
        typedcall.tag(f, [each.signature for each in found], [each.address for each in found],
                      flags=[each.flags for each in found])
        self.register(functions.inc, name="f")
        rows = iter(self.connection.execute(SERIES.format(10, "f(i)")))
        self.assertEqual(next(rows), (1,))
        with self.assertRaisesRegex(Exception, "active statements"):
            self.register(f)
        self.refuses("wrong number of arguments", "f(1.0, 2.0)")
        self.assertEqual([row[0] for row in rows], list(range(2, 11)))
        self.register(f)
        self.assertEqual(self.query("select f(1.0, 2.0), f(3.0)"), [(3.0, 1.5)])

    def test_threads_that_register_on_one_connection(self):
        connection, errors = self.connection, []
        meeting, is_ended = threading.Barrier(2, timeout=1), threading.Event()

        def meet():
            with contextlib.suppress(threading.BrokenBarrierError):  # the threads did not meet
                meeting.wait()

        class AtOnce:
            """Both threads enable loading, and one disables it before the other thread loads."""

            def load_extension(self, path):
                try:
                    connection.load_extension(path)
                except Exception:
                    meet()
                    raise

            def enable_load_extension(self, is_enabled):
                connection.enable_load_extension(is_enabled)
                if not is_enabled:
                    is_ended.set()
                else:
                    meet()
                    if threading.current_thread() is threads[1]:
                        is_ended.wait(1)

        def register(f):
            try:
                sql.register(AtOnce(), f)
            except Exception as error:
                errors.append(error)

        connection.enable_load_extension(False)
        threads = [threading.Thread(target=register, args=(f,)) for f in (functions.inc, functions.half)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(errors, [])
        self.assertEqual(self.query("select inc(1), half(1.0)"), [(2, 0.5)])

    def in_a_process(self, code):
        """Runs `code` with an open `connection` in another process, and returns the output."""
        status, output, errors = support.python("-c", CONNECTED.format(
            folder=str(support.MODULES.parent), engine=self.module.__name__) + code)
        self.assertEqual(status, 0, errors)
        return output

    def leaks_nothing(self, run, first, then, blocks=1000):
        """Checks that `run` leaks no memory."""
        leaks.check(run, then, warm_up=first, blocks=blocks, kilobytes=8000, takes_count=True)

    @support.timing
    @support.WHERE_FREED_MEMORY_GOES
    def test_a_million_rows_leak_nothing(self):
        for f in (functions.same_text, functions.inc, functions.invert, buffers.utf8_length,
                  fallbacks.root):
            self.register(f)
        self.register(self.tagged(lambda x: x, "d&d->i", fallbacks.root), name="falls_back")
        self.register(self.tagged(lambda x: x), name="boxed")
        text = ("sum(utf8_length(same_text('a text ' || i)) + inc(i) + invert(i + 1) + root(i)"
                " + falls_back(case when i % 10 = 0 then -1 else 1 end)"
                " + length(boxed(case when i % 10 = 0 then 'a text that is not short ' || i else 1.0 end))"
                " + length(boxed(case when i % 10 = 1 then zeroblob(100) else 1.0 end)))")
        self.leaks_nothing(lambda rows: self.query(SERIES.format(rows, text)), 10**5, 10**6)

    @support.timing
    @support.WHERE_FREED_MEMORY_GOES
    def test_rows_that_raise_leak_nothing(self):
        def f(x):
            raise ValueError("a text that is not short, of %s" % x)

        self.register(functions.check, name="typed_check")
        self.register(fallbacks.root)
        self.register(self.tagged(f))
        self.register(functions.same_text)
        texts = [SERIES.format(20, each) for each in (
            "typed_check(i)", "root(5 - i)", "f('x' || i)", "f(case when i = 15 then 'x' else i end)",
            "same_text(cast(x'61ff' as text))", "same_text(i)")]

        def run(times):
            for text in texts * times:
                with self.assertRaises(Exception):
                    self.query(text)

        self.leaks_nothing(run, 300, 4000, blocks=250)


@support.only_if(support.SQLITE3_LOADS)
class OfPython(sql_support.OfPython, Functions, unittest.TestCase):
    pass


class OfApsw(sql_support.OfApsw, Functions, unittest.TestCase):
    # CPython's own sqlite3 crashes in this case.
    def test_closed_by_the_function_itself_does_not_crash(self):
        # The engine may return a result or raise an exception.
        self.assertEqual(self.in_a_process(CLOSED_BY_ITSELF), "closing\nended\n")


class Both(unittest.TestCase):
    @support.only_if(support.SQLITE3_LOADS)
    def test_two_libraries_in_one_process(self):
        apsw = adapter_support.library("apsw")
        sqlite3 = importlib.import_module("sqlite3")
        connections = apsw.Connection(":memory:"), sqlite3.connect(":memory:")
        for connection in connections * 2:
            sql.register(connection, functions.inc)
            sql.register(connection, functions.check, name="typed_check")
        for connection in connections * 2:
            self.assertEqual(list(connection.execute("select inc(1), typed_check(2)")), [(2, 2)])
            with self.assertRaisesRegex(Exception, "thirteen"):
                list(connection.execute("select typed_check(13)"))

    @support.only_if(not support.SQLITE3_LOADS)
    def test_sqlite3_that_loads_nothing_is_named(self):
        sqlite3 = importlib.import_module("sqlite3")
        connection = sqlite3.connect(":memory:")
        self.addCleanup(connection.close)
        with self.assertRaisesRegex(TypeError, "'sqlite3.Connection' cannot load SQLite extensions"):
            sql.register(connection, functions.inc)


CONNECTED = """
import sys
sys.path.insert(0, {folder!r})
import {engine} as engine, support, typedcall
from typedcall import sql
functions = support.build("typed_functions")
connection = getattr(engine, "connect", engine.Connection)(":memory:")
"""
CLOSED_BY_ITSELF = """
def f(x):
    print("closing")
    connection.close()
    return 1
entry = typedcall.entries(functions.half)[0]
typedcall.tag(f, "d->d", entry.address, flags=entry.flags)
sql.register(connection, f)
try:
    list(connection.execute("select f('x')"))
except Exception:
    pass
print("ended")
"""
