"""What the tests of typedcall.sql share: connections of sqlite3 and of APSW, and native functions."""

import importlib
import unittest

import adapter_support
import support
import typedcall

support.module_only_if(not support.IS_PYPY, "typedcall.sql is CPython's")
from typedcall import sql  # noqa: E402

try:
    from typedcall.sinks.sql import _sqlite  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("the package was built without sqlite3ext.h (%s)" % error) from None

functions = support.build("typed_functions")
buffers = support.build("buffer_provider")
fallbacks = support.build("fallback_functions")
SERIES = """with recursive series(i) as (select 0 union all select i + 1 from series where i < {} - 1)
            select {} from series"""


class Connection:
    """A test on a connection of one engine."""

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

    def tagged(self, f, signature="d->d", of=functions.half, flags=None):
        """A Python function behind the native one of another: its own results show who was called."""
        entry = next(each for each in typedcall.entries(of) if each.signature == signature)
        typedcall.tag(f, signature, entry.address, flags=entry.flags if flags is None else flags)
        self.addCleanup(typedcall.untag, f)
        return f


class OfPython:
    """For classes that are only_if(support.SQLITE3_LOADS)."""

    @classmethod
    def setUpClass(cls):
        cls.module = importlib.import_module("sqlite3")

    def connect(self):
        return self.module.connect(":memory:", check_same_thread=False)

    def unregister(self, connection, name, count):
        connection.create_function(name, count, None)


class OfApsw:
    @classmethod
    def setUpClass(cls):
        cls.module = adapter_support.library("apsw")

    def connect(self):
        return self.module.Connection(":memory:")

    def unregister(self, connection, name, count):
        connection.create_scalar_function(name, None, count)
