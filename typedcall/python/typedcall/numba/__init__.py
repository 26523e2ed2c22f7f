"""Support for typed functions in Numba's nopython code."""
