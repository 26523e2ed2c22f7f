"""Typed functions as functions of SQL databases: of SQLite, on connections of `sqlite3`, if Python was
built with loadable extensions, and of APSW; and of DuckDB. The engine calls the C function itself."""
from __future__ import annotations

from typing import Any

from typedcall.calling.choose import is_alone, offered, rows_to_rank, usable, valueless
from typedcall.record.records import Entry, Flags
from typedcall.sinks.sql import to_duckdb, to_sqlite
from typedcall.tools.parameters import by_position

__all__ = ["register"]


def register(connection: Any, f: Any, *, name: str | None = None) -> None:
    """Registers the typed function `f` with an SQLite connection, or with a DuckDB connection's
    database: an SQL function `name`, by default `f.__name__`, for each number of arguments that `f`
    has entries for; in DuckDB, for each list of types that Python distinguishes.

    SQL gets the result of `f`: the entry that `f` would choose is called; if none takes the values
    as they are, or it falls back, `f` itself. A NULL argument makes the result NULL. In SQLite,
    INTEGER suits integers, floats and bools, REAL suits `d` and `f`, TEXT `s` and `*s`, BLOB `*kB`.
    An exception becomes an SQL error with its text. PURE functions are deterministic. Functions
    that are THREAD_SAFE and need no thread state run without the GIL, as SQLite does; others take
    it for each row.

    In DuckDB results have the C function's type; PURE functions are consistent, others volatile; the GIL
    is taken for each vector.

    The connection keeps `f` until it is closed or has another function of that name. Raises
    ImportError if the package was built without SQLite; TypeError if `f` has no entry for SQL, or
    the connection loads no extensions."""
    if name is None:
        name = f.__name__
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not '{type(name).__name__}'")
    found = offered(f)
    entries = usable(f, "SQL", lambda entry: valueless(entry, "SQL"), found)
    rows = rows_to_rank(found, entries)
    by_count: dict[int, list[Entry]] = {}
    for entry in entries:
        by_count.setdefault(len(entry.python_types()[0]), []).append(entry)
    # Entries that omit defaults are not overloads of each other.
    alone = is_alone(f, [entry.python_types()[0] for entry in found])
    groups = tuple([(count, all([entry.flags & Flags.PURE for entry in of]), rows_to_rank(of, of) if alone else rows)
                    for count, of in by_count.items()])
    kept = tuple([entry.keep_alive for entry in entries])
    sink = to_duckdb if to_duckdb.is_connection(connection) else to_sqlite
    sink.register(connection, name, by_position(f), kept, groups)
