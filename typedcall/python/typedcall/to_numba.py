"""The module that Numba loads through the entry point `numba_extensions`."""
from typedcall.numba.extension import register, unregister

__all__ = ["register", "unregister"]
