"""Typed functions in Numba's nopython code."""
