# The extension module built from _numpy_bridge.cc, which makes ufuncs from native functions.
from typing import Any

def make_ufunc(
    name: str,
    doc: str,
    loops: tuple[tuple[Any, ...], ...],
    types: bytes,
    nin: int,
    nout: int,
    /,
    core: str = "",
    origin: Any = None,
    planner: Any = None,
) -> Any: ...
def origin_of(ufunc: Any, /) -> Any: ...
