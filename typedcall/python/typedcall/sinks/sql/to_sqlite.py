"""Registers typed functions with SQLite connections from APSW, or from `sqlite3` if Python was built with loadable
extensions. The extension module is also the extension that a connection loads."""
from __future__ import annotations

import atexit
import functools
from typing import Any

from typedcall.calling.choose import extension_of
from typedcall.tools.foreign import attribute, printable, text_attribute, type_name
from typedcall.tools.locks import RenewedLock

# Held while a connection may load extensions, because another thread could disable loading.
_loading = RenewedLock()


@functools.cache
def _extension() -> Any:
    whose = (
        "which CPython's package has if it was built with SQLite's sqlite3ext.h (Debian: libsqlite3-dev)"
    )
    with extension_of("typedcall.sql", whose):
        from typedcall.sinks.sql import _sqlite
    atexit.register(_sqlite.end)
    return _sqlite


def _load(connection: Any, path: str) -> None:
    """Loads the extension, and then restores the connection's setting."""
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


def register(connection: Any, name: str, f: Any, kept: tuple[Any, ...], groups: tuple[Any, ...]) -> None:
    if attribute(connection, "load_extension") is None:
        module = text_attribute(connection, "__module__")
        raise TypeError(
            f"'{printable(f'{module}.' if module else '')}{type_name(connection)}' cannot load SQLite extensions; if Python was built without them, use a connection of APSW"
        )
    if len(name.encode("utf-8", "surrogatepass")) > 255:
        raise ValueError("SQLite's function names have at most 255 bytes")
    _install(connection, name, f, kept, groups)


def _install(connection: Any, *what: Any) -> None:
    # Kept short: if memory runs out, CPython 3.11 cannot leave a `with` statement in a long function.
    with _loading.lock:
        extension = _extension()
        extension.install(lambda: _load(connection, extension.__file__), *what)
