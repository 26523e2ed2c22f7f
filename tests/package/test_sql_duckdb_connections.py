"""Tests typedcall.sql with connections to DuckDB: loading, closing, threads and leaks."""

import concurrent.futures
import sys

import sql_connection
import sql_duckdb_support
import support
from sql_duckdb_support import buffers, duckdb, fallbacks, functions
from support import leaks
from typedcall import sql


class Connections(sql_duckdb_support.OfDuckDb, sql_connection.Connections, support.InAFolder):
    def setUp(self):
        support.InAFolder.setUp(self)
        super().setUp()

    def test_names_that_are_refused(self):
        for name in ("count", "sum"):  # aggregates
            with self.assertRaisesRegex(duckdb.Error, "DuckDB does not take it"):
                self.register(functions.inc, name=name)
        with self.assertRaisesRegex(duckdb.Error, "DuckDB does not take it"):
            self.register(functions.inc, name="")
        self.assertEqual(self.value("count(*)"), 1)

    def test_a_database_for_which_unsigned_extensions_are_not_allowed(self):
        with duckdb.connect() as connection:
            with self.assertRaisesRegex(TypeError, "config={'allow_unsigned_extensions': 'true'}"):
                sql.register(connection, functions.inc)
            with self.assertRaisesRegex(duckdb.CatalogException, "does not exist"):
                connection.execute("select inc(1)")

    def test_without_access_to_files(self):
        with self.connect(enable_external_access="false") as connection:
            with self.assertRaisesRegex(duckdb.Error, "disabled through configuration"):
                sql.register(connection, functions.inc)

    def test_the_file_alone_adds_nothing(self):
        self.register(functions.inc)
        path = sys.modules["typedcall.sinks.sql._duckdb"].__file__
        for _ in range(2):
            with self.assertRaisesRegex(duckdb.Error, "added by typedcall.sql.register"):
                self.query("load '%s'" % path)
        self.register(functions.half)
        self.assertEqual(self.value("inc(1) + half(1)"), 2.5)

    def test_all_connections_to_a_database_have_it(self):
        cursor = self.connection.cursor()
        self.addCleanup(cursor.close)
        self.register(functions.inc)
        self.assertEqual(cursor.execute("select inc(1)").fetchall(), [(2,)])
        with self.connect() as other:
            with self.assertRaises(duckdb.CatalogException):
                other.execute("select inc(1)")
            sql.register(other, functions.half, name="inc")
            self.assertEqual(other.execute("select inc(1)").fetchall(), [(0.5,)])
        self.assertEqual(self.value("inc(1)"), 2)

    def test_the_transaction_and_the_result_of_the_connection_stay(self):
        self.connection.begin()
        self.query("create table t as select 5.0::double as x")
        self.register(functions.half)
        self.assertEqual(self.value("half(x) from t"), 2.5)
        self.connection.rollback()
        self.assertEqual(self.value("half(4)"), 2.0)
        result = self.connection.execute("select i from range(3) t(i)")
        self.assertEqual(result.fetchone(), (0,))
        self.register(functions.inc)
        self.assertEqual(result.fetchall(), [(1,), (2,)])

    def test_a_connection_that_is_closed(self):
        self.register(functions.inc)
        self.connection.close()
        with self.assertRaisesRegex(duckdb.ConnectionException, "closed"):
            self.register(functions.half)

    def test_nothing_holds_a_file_open(self):
        path = self.path("it's.db")
        with self.connect(path) as connection:
            sql.register(connection, functions.inc)
            connection.execute("create table t as select inc(i) as x from range(3) t(i)")
        # DuckDB would refuse other settings if the database were still open.
        with duckdb.connect(path) as connection:
            self.assertEqual(connection.execute("select x from t").fetchall(), [(1,), (2,), (3,)])
            with self.assertRaisesRegex(duckdb.CatalogException, "does not exist"):
                connection.execute("select inc(1)")

    def test_another_function_of_that_name(self):
        self.register(functions.inc, name="f")
        self.register(buffers.utf8_length, name="f")  # an overload for another type
        self.assertEqual([self.value("f(1)"), self.value("f('three')")], [2, 5])
        self.register(functions.check, name="f")
        self.refuses("thirteen", "f(13)")
        self.refuses("TypeError", "f('three')")
        # A function with the same parameters replaces the previous one.
        self.register(self.tagged(lambda x: 1, "b->b", functions.next_char), name="g")
        self.register(functions.next_char, name="g")
        self.assertEqual(self.value("g(1::tinyint)"), 2)

    def test_replaced_in_the_middle_of_a_query(self):
        self.register(functions.inc)
        result = self.connection.execute("select inc(i) from range(100000) t(i)")
        self.assertEqual(result.fetchone(), (1,))
        cursor = self.connection.cursor()
        self.addCleanup(cursor.close)
        sql.register(cursor, functions.check, name="inc")
        self.assertEqual([row[0] for row in result.fetchall()], list(range(2, 100001)))
        self.assertEqual(self.value("inc(5)"), 5)

    def test_registered_by_the_function_itself(self):
        def f(x):
            sql.register(self.connection, functions.inc)
            return 1.0

        self.register(self.falling_back(f))
        self.assertEqual(self.value("f(-1)"), 1.0)
        self.assertEqual(self.value("inc(1)"), 2)

    def test_threads_of_duckdb(self):
        for name in ("inc", "check"):
            self.register(getattr(functions, name), name="typed_" + name)
        self.register(fallbacks.root)
        self.register(self.falling_back(lambda x: 0.0), name="f")
        self.query("set threads = 4")
        self.query("create table t as select i from range(1000000) t(i)")
        self.assertEqual(
            self.query("select sum(typed_inc(i)), sum(typed_check(i + 14)), sum(root(i * i)),"
                       " sum(f(if(i % 1000 = 0, -1, 0))) from t"),
            [(sum(range(10**6)) + 10**6, sum(range(10**6)) + 14 * 10**6, float(sum(range(10**6))), 0.0)])
        self.refuses("thirteen", "sum(typed_check(i)) from t")

    def test_one_database_in_threads_at_once(self):
        def run(number):
            with self.connection.cursor() as cursor:
                name = "f%d" % number
                sql.register(cursor, functions.check, name=name)
                return cursor.execute("select sum(%s(i + 14)) from range(20000) t(i)" % name).fetchall()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(run, range(12))), [[(sum(range(20000)) + 14 * 20000,)]] * 12)

    @support.timing
    def test_a_million_rows_leak_nothing(self):
        for f in (functions.inc, functions.invert, functions.same_text, buffers.utf8_length,
                  fallbacks.root):
            self.register(f)
        self.register(self.falling_back(lambda x: x), name="python")
        text = ("select sum(utf8_length(same_text('a text that is not short ' || i)) + inc(i)"
                " + invert(i + 1) + root(i) + python(if(i % 10 = 0, -1, 1))) from range({}) t(i)")

        self.query("set threads = 1")  # each thread has its own buffers
        leaks.check(lambda rows: self.query(text.format(rows)), 10**6, warm_up=2 * 10**5, takes_count=True,
                    blocks=1000, kilobytes=20000, kilobytes_of=leaks.peak)

    def test_errors_and_registrations_leak_nothing(self):
        def run():
            self.register(functions.check)
            self.register(fallbacks.root)
            for text in ("check(13)", "root(-1)"):
                with self.assertRaises(duckdb.Error):
                    self.value("typed_" + text if text.startswith("check") else text)

        self.register(functions.check, name="typed_check")
        leaks.check(run, 200, warm_up=20, blocks=250, unchanged=[functions.check])


class Processes(support.InAFolder):
    def test_a_destructor_that_uses_the_database(self):
        ended = support.python("-c", DESTRUCTOR % str(support.MODULES.parent), timeout=120)
        self.assertEqual((ended.status, ended.out.split("\n")[:2]),
                         (0, ["[(1.0, 2.0)]", "[(1.0,)]"]), ended.err)

    def test_the_file_is_removed_by_the_process_that_made_it(self):
        text = FORK % str(support.MODULES.parent)
        ended = support.python("-c", text, environment={"TMPDIR": self.path()})
        self.assertEqual((ended.status, ended.out.split()), (0, ["True", "2"]), ended.err)
        self.assertEqual(list(self.folder.glob("**/*.duckdb_extension")), [])

    def runs_with_a_folder_of_its_own(self, code):
        ended = support.python("-c", BEFORE % str(support.MODULES.parent) + code,
                               environment={"TMPDIR": self.path()})
        self.assertEqual((ended.status, ended.out.split()), (0, ["2.5"]), ended.err)
        self.assertEqual(list(self.folder.glob("**/*.duckdb_extension")), [])

    def test_the_temporary_folder_is_cleaned(self):
        for what in ("os.unlink(path)", "shutil.rmtree(path.parent)"):
            self.runs_with_a_folder_of_its_own("%s\nregister()" % what)

    def test_a_daemon_outlives_its_parent(self):
        self.runs_with_a_folder_of_its_own(DAEMON)


FORK = """
import sys
sys.path.insert(0, %r)
import os, pathlib, duckdb, support
from typedcall import sql
functions = support.build("typed_functions")
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
sql.register(connection, functions.inc)
sys.stdout.flush()
child = os.fork()
if child == 0:
    import atexit
    atexit._run_exitfuncs()
    os._exit(0)
os.waitpid(child, 0)
print(pathlib.Path(sys.modules["typedcall.sinks.sql._duckdb"].__file__).exists())
sql.register(connection, functions.half)
print(connection.execute("select inc(1)").fetchone()[0])
"""

BEFORE = """
import sys
sys.path.insert(0, %r)
import os, pathlib, shutil, duckdb, support
from typedcall import sql
functions = support.build("typed_functions")
connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 1})
sql.register(connection, functions.inc)
path = pathlib.Path(sys.modules["typedcall.sinks.sql._duckdb"].__file__)

def register():
    sql.register(connection, functions.half)
    with duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 1}) as other:
        sql.register(other, functions.inc)
        print(connection.execute("select inc(1) + half(1)").fetchone()[0])

"""

DAEMON = """
there, end = os.pipe()
if os.fork() == 0:
    os.close(end)
    os.read(there, 1)  # reads nothing: its parent has ended
    assert not path.exists()
    register()
    # At exit, DuckDB may wait for threads that the fork has left behind.
    import atexit
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)
"""


DESTRUCTOR = """
import sys
sys.path[:0] = [%r]
import duckdb, support, typedcall
from typedcall import sql

functions = support.build("typed_functions")
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
(entry,) = (each for each in typedcall.entries(functions.half) if each.signature == "d->d")

class Owner:
    def __call__(self, x):
        return x
    def __del__(self):
        sql.register(connection.cursor(), functions.half, name="other")
        print(connection.cursor().execute("select f(2), other(4)").fetchall())

owner = Owner()
typedcall.tag(owner, "d->d", entry.address, flags=entry.flags)
sql.register(connection, owner, name="f")
typedcall.untag(owner)
del owner
for name in ("f", "g", "f"):
    sql.register(connection, functions.half, name=name)
print(connection.execute("select f(2)").fetchall())
connection.close()
"""
