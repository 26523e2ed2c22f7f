"""Registers typed functions with DuckDB's Python connections. The database loads a copy of the package's extension
module that ends with DuckDB's footer."""
from __future__ import annotations

import atexit
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
from typing import Any

from typedcall.tools.foreign import imported_class, is_a
from typedcall.tools.locks import RenewedLock

_MODULE = "typedcall.sinks.sql._duckdb"
# register() holds this lock, because DuckDB may load the extension in any thread, and must find only the functions of
# one call.
_registering = RenewedLock()
# The path of the extension module, by the path of its loaded copy.
_originals: dict[str, str] = {}


def is_connection(connection: Any) -> bool:
    return is_a(connection, imported_class("duckdb", "DuckDBPyConnection"))


def _footer(platform: str) -> bytes:
    """Returns an extension's metadata fields, in reverse order and without a signature."""
    fields = ("", "", "", "C_STRUCT", "1", "v1.2.0", platform, "4")
    return b"".join(field.encode().ljust(32, b"\0") for field in fields) + bytes(256)


def _extension(cursor: Any) -> Any:
    """Returns the extension module. Python and DuckDB must load it from the same file, to share one library."""
    made = sys.modules.get(_MODULE)
    if made is not None:
        _write(pathlib.Path(made.__file__ or ""), cursor)
        return made
    found = importlib.util.find_spec(_MODULE)
    if found is None or found.origin is None:
        raise ImportError("typedcall.sql needs its extension module, which CPython's package has")
    path = pathlib.Path(tempfile.mkdtemp(prefix="typedcall-"), "typedcall_sql.duckdb_extension")
    _originals[str(path)] = found.origin
    _write(path, cursor)
    loader = importlib.machinery.ExtensionFileLoader(_MODULE, str(path))
    spec = importlib.util.spec_from_file_location(_MODULE, str(path), loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[_MODULE] = module
    atexit.register(module.end)
    return module


def _write(path: pathlib.Path, cursor: Any) -> None:
    """Writes the file if it is missing. The temporary folder may have been cleaned. The path must stay the same,
    because the dynamic linker identifies the library by it."""
    if os.path.exists(str(path)):  # if memory runs out, pathlib raises TypeError
        return
    folder = path.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise PermissionError(f"typedcall.sql's folder {folder} now belongs to another user")
    atexit.register(_remove, str(folder), os.getpid())
    (platform,) = cursor.execute("pragma platform").fetchone()
    half = path.with_suffix(f".{os.getpid()}")
    half.write_bytes(pathlib.Path(_originals[str(path)]).read_bytes() + _footer(platform))
    half.replace(path)  # atomic, because another process may load the file


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child must not remove the folder
        shutil.rmtree(folder, ignore_errors=True)


def register(connection: Any, name: str, f: Any, kept: tuple[Any, ...], groups: tuple[Any, ...]) -> None:
    # A separate connection preserves the caller's transaction and result.
    with connection.cursor() as cursor:
        (allowed,) = cursor.execute("select current_setting('allow_unsigned_extensions')").fetchone()
        if str(allowed).lower() != "true":
            raise TypeError(
                "this DuckDB database loads only signed extensions; open it with "
                "duckdb.connect(..., config={'allow_unsigned_extensions': 'true'})"
            )
        with _registering.lock:
            extension = _extension(cursor)
            path = extension.__file__.replace("'", "''")
            extension.install(lambda: cursor.execute(f"load '{path}'"), name, f, kept, groups)
