# What typedcall/sql/_duckdb.cc defines: typed functions as functions of DuckDB.
from typing import Any, Callable

def install(
    load: Callable[[], object],
    name: str,
    callable: Any,
    kept: tuple[Any, ...],
    rows: tuple[tuple[tuple[int, ...], str, int, int, bool], ...],
    /,
) -> None: ...
def end() -> None: ...
