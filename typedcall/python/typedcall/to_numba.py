"""The module that Numba loads through the entry point `numba_extensions`."""
from typedcall.numba.cache import Stale
from typedcall.numba.extension import register, unregister

__all__ = ["Stale", "register", "unregister"]
