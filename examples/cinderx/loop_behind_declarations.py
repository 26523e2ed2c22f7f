# What `python -m typedcall cinderx counter` writes is to stand in front of this, in one module: of
# another module's declarations Static Python's compiler knows nothing.
# ruff: noqa: F821
from __static__ import box


def run(count: int) -> int:
    end: int64 = int64(count)
    i: int64 = 0
    while i < end:
        i = counter_inc(i)
    return box(i)
