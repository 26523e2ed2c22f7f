"""Holds the names that Numba's cache files refer to. These names must not change."""
from typedcall.numba.cache import Symbol, code_again, type_again

__all__ = ["Symbol", "code_again", "type_again"]
