"""Typed functions as functions of tvm-ffi, and its functions as typed ones."""
from typedcall.sinks.tvm_ffi import function, source

__all__ = ["function", "source"]
