"""Tests DuckDB connections that are closed before or during a query. DuckDB may hang, so some tests run in a separate
process."""

import gc
import unittest
import weakref

import sql_connection
import sql_duckdb_support
import support
import typedcall
from sql_duckdb_support import duckdb, fallbacks, functions
from typedcall import sql

VERSION = tuple(int(each) for each in duckdb.__version__.split(".")[:2])


class Before(sql_duckdb_support.OfDuckDb, sql_connection.Connection, unittest.TestCase):
    def test_a_query_after_it(self):
        self.register(functions.inc)
        self.register(fallbacks.root)
        # The database stays open while a connection is open.
        with self.connection.cursor() as cursor:
            self.assertEqual(cursor.execute("select inc(1), root(4)").fetchall(), [(2, 2.0)])
        with self.assertRaisesRegex(duckdb.ConnectionException, "closed"):
            cursor.execute("select inc(1)")
        self.assertEqual(self.query("select inc(1), root(4)"), [(2, 2.0)])
        self.connection.close()
        for text in ("inc(1)", "root(-1)"):
            with self.assertRaisesRegex(duckdb.ConnectionException, "closed"):
                self.value(text)
        # Another database does not have this function.
        with self.connect() as other, self.assertRaises(duckdb.CatalogException):
            other.execute("select inc(1)")

    def test_what_is_left_to_read_of_a_query(self):
        def f(x):
            return x

        reference = weakref.ref(f)
        entry = typedcall.entries(fallbacks.root)[0]
        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        self.register(f)
        typedcall.untag(f)
        del f
        result = self.connection.execute("select f(i - 1) from range(100000) t(i)")
        self.assertEqual(result.fetchone(), (-1.0,))
        self.connection.close()
        with self.assertRaises(duckdb.Error):
            result.fetchall()
        del result
        gc.collect()
        self.assertIsNone(reference())


class Meanwhile(unittest.TestCase):
    def check(self, closer):
        text = PROGRAM % (str(support.MODULES.parent), closer)
        ended = support.python("-X", "faulthandler", "-c", text, timeout=120)
        # DuckDB 2 does not close a connection during a query. Earlier versions close it after the query.
        closed = "ResourceInUseException" if VERSION >= (2, 0) else "closed"
        self.assertEqual((ended.status, ended.out.split("\n")[:3]),
                         (0, [closed, "[(1.0,), (1.0,), (1.0,)]", "gone"]), ended.err[-3000:])

    def test_by_the_function_itself(self):
        self.check("itself")

    def test_by_another_thread(self):
        if (1, 5) <= VERSION < (2, 0):
            self.skipTest("DuckDB 1.5.6 also waits forever in close() with create_function()")
        self.check("another thread")


# DuckDB must use one thread. With several threads, close() may hang in DuckDB 2.0.1.
PROGRAM = """
import faulthandler, sys
sys.path.insert(0, %r)
faulthandler.dump_traceback_later(60, exit=True)
closer = %r
import gc, threading, weakref, duckdb, support, typedcall
from typedcall import sql
connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": "1"})
said = []
def close():
    try:
        connection.close()
        said.append("closed")
    except duckdb.Error as error:
        said.append(type(error).__name__)
def f(x):
    if not said:
        if closer == "itself":
            close()
        else:
            thread = threading.Thread(target=close)
            thread.start()
            thread.join()
    return 1.0
entry = typedcall.entries(support.build("fallback_functions").root)[0]
typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
sql.register(connection, f)
typedcall.untag(f)
reference = weakref.ref(f)
del f
try:
    found = connection.execute("select f(-1 - i) from range(3) t(i)").fetchall()
except duckdb.Error as error:
    found = str(error)
print(said[0])
print(found)
connection.close()
gc.collect()
for _ in range(1000):
    pass
print("kept" if reference() else "gone")
"""
