"""Direct calls of typed functions on PyPy: typedcall.accelerate and what it returns."""
from typedcall.pypy.acceleration import Acceleration, accelerate, restore
from typedcall.pypy.originals import wrapper_of

__all__ = ["Acceleration", "accelerate", "restore", "wrapper_of"]
