# What typedcall/jax/_jax.cc defines: the function that XLA calls for all typed functions.
from typing import Any

def add(
    name: str, signature: str, flags: int, address: int, kept: Any, callable: Any, /
) -> int: ...
def target() -> Any: ...
