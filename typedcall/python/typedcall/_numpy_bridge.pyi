# What typedcall/_numpy_bridge.cc defines: ufuncs from native functions, and the native
# functions of ufuncs.
from typing import Any, List, Tuple

def make_ufunc(
    api: Any,
    name: str,
    doc: str,
    loops: Tuple[Tuple[str, int, int, Any], ...],
    types: bytes,
    nin: int,
    nout: int,
    /,
) -> Any: ...
def scalar_functions(api: Any, ufunc: Any, /) -> List[Tuple[str, int]]: ...
