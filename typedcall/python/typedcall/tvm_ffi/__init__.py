"""Converts typed functions to tvm-ffi functions, and tvm-ffi functions to typed functions."""
from typedcall.sinks.tvm_ffi import function, typed_function

__all__ = ["function", "typed_function"]
