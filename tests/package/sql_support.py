"""Shared by the tests of typedcall.sql on SQLite."""

import importlib
import unittest

import adapter_support
from sql_connection import buffers, fallbacks, functions  # noqa: F401

try:
    from typedcall.sinks.sql import _sqlite  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("the package was built without sqlite3ext.h (%s)" % error) from None

SERIES = """with recursive series(i) as (select 0 union all select i + 1 from series where i < {} - 1)
            select {} from series"""


class OfPython:
    """A base class for tests that use Python's sqlite3. Mark these tests with only_if(support.SQLITE3_LOADS)."""

    series = SERIES

    @classmethod
    def setUpClass(cls):
        cls.module = importlib.import_module("sqlite3")

    def connect(self):
        return self.module.connect(":memory:", check_same_thread=False)

    def unregister(self, connection, name, count):
        connection.create_function(name, count, None)


class OfApsw:
    series = SERIES

    @classmethod
    def setUpClass(cls):
        cls.module = adapter_support.library("apsw")

    def connect(self):
        return self.module.Connection(":memory:")

    def unregister(self, connection, name, count):
        connection.create_scalar_function(name, None, count)
