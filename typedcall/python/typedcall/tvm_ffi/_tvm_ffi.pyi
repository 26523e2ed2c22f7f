# What typedcall/tvm_ffi/_tvm_ffi.cc defines: typed functions and functions of tvm-ffi.
from typing import Any, Callable

def use(addresses: tuple[int, ...], /) -> None: ...
def make_bridge(
    rows: tuple[tuple[str, int, int], ...], fallback: int, /
) -> tuple[int, int, int]: ...
def make_closure(
    signature: str, flags: int, function: int, error: Callable[[str, str], BaseException], /
) -> Any: ...
