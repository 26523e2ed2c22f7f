"""Typed functions as functions of SQL databases: of SQLite, on connections of `sqlite3`, where Python
was built with loadable extensions, and of APSW. The engine calls the C function itself."""
from __future__ import annotations

import atexit
from typing import Any

from typedcall._choose import offered
from typedcall._foreign import name_of
from typedcall._records import Entry, Flags

__all__ = ["register"]

_NUMBERS = frozenset("?bBhHiIlLqQnNfd")
_ARGUMENTS = _NUMBERS | {"s", "*s", "*kB"}
_RESULTS = _NUMBERS | {"s", "v"}
_HANDLED = (
    Flags.NEEDS_THREAD | Flags.ACQUIRES_GIL | Flags.MAY_RAISE | Flags.ERROR_IS_NEG_ZERO
    | Flags.RETURNS_STATUS | Flags.FALLS_BACK
)  # fmt: skip


def _obstacle(entry: Entry) -> str:
    """Why SQL cannot call it, or ""."""
    missing = entry.flags.asks(_HANDLED)
    if missing:
        return missing
    arguments, result = entry.python_types()
    for letters in arguments:
        if letters not in _ARGUMENTS:
            return f"has an argument '{letters}', for which SQL has no value"
    return "" if result in _RESULTS else f"has a result '{result}', for which SQL has no value"


def _extension() -> Any:
    try:
        from typedcall.sql import _sqlite
    except ImportError as error:
        raise ImportError(
            "typedcall.sql needs its extension module, which CPython's package has where it was built "
            f"with SQLite's sqlite3ext.h (Debian: libsqlite3-dev): {error}"
        ) from error
    atexit.unregister(_sqlite.end)
    atexit.register(_sqlite.end)
    return _sqlite


def _load(connection: Any, path: str) -> None:
    """Loads the extension, and lets the connection load others as little as before."""
    try:
        connection.load_extension(path)
    except Exception as error:
        if "not authorized" not in str(error):
            raise
        connection.enable_load_extension(True)
        try:
            connection.load_extension(path)
        finally:
            connection.enable_load_extension(False)


def register(connection: Any, f: Any, *, name: str | None = None) -> None:
    """Makes the typed function `f` a function of an SQLite connection: an SQL function `name`, usually
    `f.__name__`, for each number of arguments that `f` has entries for.

    SQL gets what `f` gives: the first entry that takes the values as they are is called; where there
    is none, or it falls back, `f` itself. NULL in gives NULL out. INTEGER is for integers, numbers
    and bools, REAL for `d` and `f`, TEXT for `s` and `*s`, BLOB for `*kB`. What is raised is an error of SQL's
    with the exception's text. Functions that are PURE are deterministic. Those that are THREAD_SAFE
    and need no thread state run without the GIL, as SQLite does; others take it for each row.

    The connection keeps `f` until it is closed or has another function of that name. ImportError
    where the package was built without SQLite; TypeError for what has no entry for SQL, and for a
    connection that loads no extensions."""
    if name is None:
        name = f.__name__
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not '{type(name).__name__}'")
    found = offered(f)
    usable = [entry for entry in found if not _obstacle(entry)]
    if not usable:
        reasons = "; ".join(f"'{entry.signature}' {_obstacle(entry)}" for entry in found)
        raise TypeError(f"{name_of(f)} has nothing for SQL: {reasons or 'it offers no typed function'}")
    if not hasattr(connection, "load_extension"):
        raise TypeError(
            f"'{type(connection).__module__}.{type(connection).__name__}' loads no extensions of SQLite's; "
            "where Python was built without them, APSW's connections do"
        )
    by_count: dict[int, list[Entry]] = {}
    for entry in usable:
        by_count.setdefault(len(entry.python_types()[0]), []).append(entry)
    groups = tuple(
        (
            count,
            all(entry.flags & Flags.PURE for entry in entries),
            tuple((entry.signature, int(entry.flags), entry.address) for entry in entries),
        )
        for count, entries in by_count.items()
    )
    kept = tuple(entry.keep_alive for entry in usable)
    extension = _extension()
    extension.install(lambda: _load(connection, extension.__file__), name, f, kept, groups)
