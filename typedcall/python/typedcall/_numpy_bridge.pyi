# What typedcall/_numpy_bridge.cc defines: ufuncs from native functions, and the native
# functions of ufuncs.
from typing import Any

def make_ufunc(
    api: Any,
    name: str,
    doc: str,
    loops: tuple[tuple[Any, ...], ...],
    types: bytes,
    nin: int,
    nout: int,
    /,
    core: str = "",
    origin: Any = None,
) -> Any: ...
def origin_of(api: Any, ufunc: Any, /) -> Any: ...
def scalar_functions(api: Any, ufunc: Any, /) -> list[tuple[str, int]]: ...
