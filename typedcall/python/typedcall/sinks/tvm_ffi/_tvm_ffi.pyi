# The extension module of _tvm_ffi.cc: typed functions and functions of tvm-ffi.
from typing import Any, Callable

def use(addresses: tuple[int, ...], /) -> None: ...
def make_bridge(
    rows: tuple[tuple[str, int, int], ...], fallback: int, /
) -> tuple[int, int, int]: ...
def make_closure(
    signature: str, flags: int, function: int, error: Callable[[str, str], BaseException], /
) -> Any: ...
