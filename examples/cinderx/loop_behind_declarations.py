# Put the output of `write_declarations.py counter` in front of this code, in the same module,
# because Static Python's compiler does not see declarations in other modules.
# ruff: noqa: F821
from __static__ import box


def run(count: int) -> int:
    end: int64 = int64(count)
    i: int64 = 0
    while i < end:
        i = counter_inc(i)
    return box(i)
