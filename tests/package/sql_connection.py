"""Shared by the tests of typedcall.sql for all engines."""

import concurrent.futures
import contextlib
import ctypes
import gc
import os
import weakref

import support
import typedcall

support.module_only_if(not support.IS_PYPY, "typedcall.sql is CPython's")
from typedcall import sql  # noqa: E402

functions = support.build("typed_functions")
buffers = support.build("buffer_provider")
fallbacks = support.build("fallback_functions")


class Connection:
    """A test with a connection to an engine. `module` is the engine's Python package."""

    #: A query that evaluates {1} for each `i` from 0 to {0} - 1.
    series = "select {1} from range({0}) t(i)"

    def setUp(self):
        self.connection = self.connect()
        self.addCleanup(self.connection.close)

    def register(self, f, **options):
        sql.register(self.connection, f, **options)

    def query(self, text, *values):
        return self.connection.execute(text, values).fetchall()

    def value(self, text, *values):
        ((found,),) = self.query("select " + text, *values)
        return found

    def refuses(self, message, text, *values):
        with self.assertRaisesRegex(self.module.Error, message):
            self.value(text, *values)

    def tagged(self, f, signature="d->d", of=functions.half, flags=None):
        """Tags a Python function with another function's C function. The result shows whether C was called."""
        entry = next(each for each in typedcall.entries(of) if each.signature == signature)
        typedcall.tag(f, signature, entry.address, flags=entry.flags if flags is None else flags)
        return f

    def falling_back(self, f, flags=None):
        """Returns a function that calls the Python function `f` for negative numbers."""
        return self.tagged(f, "d&d->i", fallbacks.root, flags)


class Values(Connection):
    def test_texts_of_exceptions(self):
        raised = []

        def f(x):
            raise raised.pop()

        self.register(self.falling_back(f))

        class Mute(Exception):
            def __str__(self):
                raise RuntimeError

        for exception, message in [(ValueError(), "^(.*: )?ValueError$"), (Mute(), "Mute$"),
                                   (KeyError("k\u00e4se"), "KeyError: 'k\u00e4se'"),
                                   (ValueError("\udc80"), r"ValueError: \\udc80"),
                                   (SystemExit(3), "SystemExit: 3")]:
            raised.append(exception)
            self.refuses(message, "f(-1)")
        raised.append(MemoryError())
        with self.assertRaises(Exception) as caught:  # each engine has its own exception class
            self.value("f(-1)")
        self.assertRegex(repr(caught.exception), "MemoryError|NoMemError")


    def test_text_results_that_are_null_or_no_utf8(self):
        getenv = ctypes.cast(ctypes.CDLL(None).getenv, ctypes.c_void_p).value
        self.addCleanup(os.environ.pop, "TYPEDCALL_TEXT", None)
        # The flags decide how the C function is called.
        for name, flags in (("f", 0), ("g", typedcall.Flags.THREAD_SAFE), ("h", typedcall.Flags.ACQUIRES_GIL)):
            def variable(name):
                return "boxed"

            typedcall.tag(variable, "s->s", getenv, flags=flags)
            self.register(variable, name=name)
            os.environ.pop("TYPEDCALL_TEXT", None)
            self.assertIsNone(self.value(name + "('TYPEDCALL_TEXT')"), flags)
            for data in (b"caf\xe9", b"\xed\xa0\x80", b"1234567\xc3", b"\xc0\xaf"):
                os.environb[b"TYPEDCALL_TEXT"] = data
                self.refuses("UnicodeDecodeError: the result is not UTF-8",
                             name + "('TYPEDCALL_TEXT')")
            for text in ("", "h\u00e4, \u20ac, \U0001f40d", "a text that is not short"):
                os.environ["TYPEDCALL_TEXT"] = text
                self.assertEqual(self.value(name + "('TYPEDCALL_TEXT')"), text)


class Connections(Connection):
    #: unregister(connection, name, count) removes an SQL function, if the engine can do this.
    unregister = None

    def test_what_cannot_be_registered(self):
        for f, message in [(functions.turn, "'Zd->Zd' has an argument 'Zd', for which SQL"),
                           (functions.same_object, "has nothing for SQL"),
                           (functions.sum_of, "'&kdl->d' has an argument '&kd'"),
                           (buffers.norm, "has an argument '.*kd'"),
                           (len, "it offers no typed function")]:
            with self.assertRaisesRegex(TypeError, message):
                self.register(f)
        with self.assertRaisesRegex(TypeError, "a name is a str, not 'int'"):
            self.register(functions.inc, name=3)

    def test_it_keeps_the_function_and_lets_go_of_it(self):
        for end in ["another", "close"] + ["unregister"] * (self.unregister is not None):
            connection = self.connect()

            def f(x):
                return x if isinstance(x, str) else -x

            reference = weakref.ref(f)
            entry, = typedcall.entries(fallbacks.root)
            typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
            sql.register(connection, f)
            typedcall.untag(f)
            del f
            gc.collect()
            self.assertIsNotNone(reference())
            self.assertEqual(connection.execute("select f(9), f(-2)").fetchall(), [(3.0, 2.0)])
            if end == "another":
                sql.register(connection, functions.half, name="f")
                self.assertEqual(connection.execute("select f(6)").fetchall(), [(3.0,)])
            elif end == "unregister":
                self.unregister(connection, "f", 1)
                # In Python 3.11, sqlite3 replaces the function with one that raises an exception.
                with self.assertRaisesRegex(Exception, "no such function|raised exception"):
                    connection.execute("select f(8.0)").fetchall()
            else:
                connection.close()
            gc.collect()
            self.assertIsNone(reference(), end)
            connection.close()

    def test_interrupted(self):
        def f(x):
            self.connection.interrupt()
            return 1

        self.register(self.falling_back(f))
        self.register(functions.inc)
        with self.assertRaisesRegex((self.module.Error, RuntimeError), "(?i)interrupt"):
            self.query(self.series.format(10**8, "sum(inc(i)) + sum(case when i = 1000 then f(-1) end)"))
        self.assertEqual(self.value("inc(1)"), 2)

    def test_connections_at_once(self):
        def run(_):
            with contextlib.closing(self.connect()) as connection:
                for f in (functions.inc, functions.check, fallbacks.root):
                    sql.register(connection, f, name="typed_" + f.__name__)
                what = "sum(typed_inc(i)) + sum(typed_check(i + 14)) + sum(typed_root(i * i))"
                return connection.execute(self.series.format(20000, what)).fetchall()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(run, range(12))), [[(3.0 * sum(range(20000)) + 15 * 20000,)]] * 12)
