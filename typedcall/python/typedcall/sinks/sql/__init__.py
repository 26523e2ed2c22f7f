"""Registers typed functions with DuckDB, and with SQLite connections from APSW, or from `sqlite3` if Python was built
with loadable extensions. The database engine calls the C function itself."""
from __future__ import annotations

from typing import Any

from typedcall.calling.choose import is_alone, offered, rows_to_rank, usable, valueless
from typedcall.record.records import Entry, Flags
from typedcall.sinks.sql import to_duckdb, to_sqlite
from typedcall.tools.foreign import exact_text, is_a, type_name
from typedcall.tools.parameters import by_position

__all__ = ["register"]


def register(connection: Any, f: Any, *, name: str | None = None) -> None:
    """Registers the typed function `f` with an SQLite connection, or with the database of a DuckDB connection. The
    name of the SQL function is `name`, by default `f.__name__`. The function is registered for each possible number of
    arguments, and in DuckDB for each list of types that an entry has.

    The result in SQL is the result of `f`. The engine calls the entry that `f` would choose, or `f` itself if no entry
    accepts the values unchanged or the entry falls back. A NULL argument makes the result NULL. In SQLite, integers,
    floats and bools accept an INTEGER, `d` and `f` a REAL, `s` and `*s` a TEXT, and `*kB` a BLOB. An exception becomes
    an SQL error with the same text. PURE functions are deterministic. Functions that are THREAD_SAFE and need no
    thread state run without the GIL. Other functions acquire the GIL for each row.

    In DuckDB, results have the type of the C function. PURE functions are consistent, and others are volatile. If the
    GIL is needed, it is acquired for each vector.

    `f` is kept alive until the connection is closed, or another function replaces `f`. Raises ImportError if the
    package was built without SQLite. Raises TypeError if `f` has no entry for SQL, or if the connection cannot load
    extensions."""
    if name is None:
        name = f.__name__
    if not is_a(name, str):
        raise TypeError(f"a name is a str, not '{type_name(name)}'")
    name = exact_text(name)
    found = offered(f)
    entries = usable(f, "SQL", lambda entry: valueless(entry, "SQL"), found)
    rows = rows_to_rank(found, entries)
    by_count: dict[int, list[Entry]] = {}
    for entry in entries:
        by_count.setdefault(len(entry.python_types()[0]), []).append(entry)
    # Entries that differ only by omitting arguments with defaults are not overloads of each other.
    alone = is_alone(f, [entry.python_types()[0] for entry in found])
    groups = tuple([(count, all([entry.flags & Flags.PURE for entry in of]), rows_to_rank(of, of) if alone else rows)
                    for count, of in by_count.items()])
    kept = tuple([entry.keep_alive for entry in entries])
    if to_duckdb.is_connection(connection):
        return to_duckdb.register(connection, name, by_position(f), kept, groups)
    # SQLite has no types of parameters, so `f` answers for the numbers of arguments that no usable entry takes.
    others = {len(entry.python_types()[0]) for entry in found}.difference(by_count)
    groups += tuple([(count, False, () if alone else rows) for count in sorted(others)])
    return to_sqlite.register(connection, name, by_position(f), kept, groups)
