"""Lets PyPy call typed functions directly, through typedcall.accelerate and its results."""
from typedcall.pypy.acceleration import Acceleration, accelerate, restore
from typedcall.pypy.originals import wrapper_of

__all__ = ["Acceleration", "accelerate", "restore", "wrapper_of"]
