"""Converts typed functions to tvm-ffi functions, and tvm-ffi functions to typed functions."""
from typedcall.sinks.tvm_ffi import function, source

__all__ = ["function", "source"]
