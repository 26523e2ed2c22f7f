"""Holds the names that Numba's cache files refer to. Do not rename them, even if their definitions move."""
from typedcall.numba.cache import Symbol, type_again

__all__ = ["Symbol", "type_again"]
