"""Converts typed functions to functions of tvm-ffi, and functions of tvm-ffi to typed functions."""
from typedcall.sinks.tvm_ffi import function, source

__all__ = ["function", "source"]
