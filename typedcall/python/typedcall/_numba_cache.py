"""Holds the names that Numba's cache files refer to. These names must not change."""
from typedcall.numba.cache import Symbol, type_again

__all__ = ["Symbol", "type_again"]
