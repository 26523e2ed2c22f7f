"""Typed functions as functions of SQL databases: of SQLite, on connections of `sqlite3`, where Python
was built with loadable extensions, and of APSW; and of DuckDB. The engine calls the C function itself."""
from __future__ import annotations

from typing import Any

from typedcall.calling.choose import offered, rows_to_rank, usable, valueless
from typedcall.sinks.sql import to_duckdb, to_sqlite
from typedcall.tools.parameters import by_position

__all__ = ["register"]


def register(connection: Any, f: Any, *, name: str | None = None) -> None:
    """Makes the typed function `f` a function of an SQLite connection, or of a DuckDB connection's
    database: an SQL function `name`, usually `f.__name__`, for each number of arguments that `f` has
    entries for; in DuckDB for each list of types.

    SQLite gets what `f` gives: the entry that `f` would choose is called; where none takes the values as
    they are, or it falls back, `f` itself. NULL in gives NULL out. INTEGER is for integers, numbers
    and bools, REAL for `d` and `f`, TEXT for `s` and `*s`, BLOB for `*kB`. What is raised is an error of SQL's
    with the exception's text. Functions that are PURE are deterministic. Those that are THREAD_SAFE
    and need no thread state run without the GIL, as SQLite does; others take it for each row.

    DuckDB gets what the C function gives, in columns of the signature's types, or `f` where that falls
    back; functions that are PURE are consistent, others volatile; the GIL is taken for each vector.

    The connection keeps `f` until it is closed or has another function of that name. ImportError
    where the package was built without SQLite; TypeError for what has no entry for SQL, and for a
    connection that loads no extensions."""
    if name is None:
        name = f.__name__
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not '{type(name).__name__}'")
    found = offered(f)
    entries = usable(f, "SQL", lambda entry: valueless(entry, "SQL"), found)
    if to_duckdb.is_connection(connection):
        to_duckdb.register(connection, by_position(f), name, entries)
    else:
        to_sqlite.register(connection, by_position(f), name, entries, rows_to_rank(found, entries))
