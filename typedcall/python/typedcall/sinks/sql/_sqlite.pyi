# The extension module built from _sqlite.cc.
from typing import Any, Callable

def install(
    load: Callable[[], object],
    name: str,
    callable: Any,
    kept: tuple[Any, ...],
    groups: tuple[tuple[int, bool, tuple[tuple[str, int, int], ...]], ...],
    /,
) -> None: ...
def end() -> None: ...
