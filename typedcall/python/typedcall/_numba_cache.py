"""Holds the names that Numba's cache files refer to. These names must not change."""
from typedcall.numba.cache import Symbol, code_again, type_again
from typedcall.numba.read_only import ReadOnlyCTypes

__all__ = ["ReadOnlyCTypes", "Symbol", "code_again", "type_again"]
