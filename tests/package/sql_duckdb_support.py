"""Shared by the tests of typedcall.sql on DuckDB."""

import adapter_support

duckdb = adapter_support.library("duckdb")
from sql_connection import buffers, fallbacks, functions  # noqa: E402, F401

ALLOWED = {"allow_unsigned_extensions": "true"}


class OfDuckDb:
    module = duckdb

    def connect(self, database=":memory:", **config):
        return duckdb.connect(database, config={**ALLOWED, **config})
