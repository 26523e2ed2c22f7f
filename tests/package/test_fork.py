"""Tests a fork while another thread runs the package's code. The child does not have this thread, and must be able to
run the same code. The thread stops at each line in turn."""
import unittest

import support
from stopped_thread import STOPPED

support.module_only_if(not support.IS_PYPY, "for CPython: it traces threads")

try:
    import duckdb
except ImportError:
    duckdb = None

COMMON = STOPPED + """
def forks(work):
    work()  # imports
    for at in itertools.count(1):
        found = stopped(work, at)
        if found is None:
            return at > 10
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            work()
            os._exit(0)
        thread, go = found
        status = os.waitpid(child, 0)[1]
        go.set()
        thread.join()
        assert status == 0, (at, status)
"""


class Forks(unittest.TestCase):
    def runs(self, code, **options):
        # From 3.12 on, CPython warns about a fork with threads.
        status, said, _ = support.python("-W", "ignore::DeprecationWarning", "-X", "faulthandler",
                                         "-c", COMMON + code, together=True, **options)
        self.assertEqual((status, said.strip()), (0, "True"))

    def test_while_it_tags(self):
        self.runs("""
def work():
    function = lambda x: x
    typedcall.tag(function, "d->d", 4096, defaults=(1.0,))
    assert typedcall.untag(function)
    typedcall.add_overloads(function, "d->d", 4096)
    assert typedcall.signatures(function) == ["d->d"]
    typedcall.tag(function, "d->d", 4096, defaults=(1.0,))

print(forks(work))
""")

    @unittest.skipIf(duckdb is None, "duckdb is not installed")
    def test_while_duckdb_loads(self):
        self.runs("""
import duckdb, typed_functions
from typedcall import sql
PACKAGE += "/sinks/sql/"
config = {"allow_unsigned_extensions": "true", "threads": 1}

def work():
    with duckdb.connect(config=config) as connection:
        sql.register(connection, typed_functions.inc)
        assert connection.execute("select inc(1)").fetchall() == [(2,)]

print(forks(work))
""", paths=[support.module_folder("typed_functions")])
