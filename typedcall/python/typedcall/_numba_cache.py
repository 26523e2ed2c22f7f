"""The names used in Numba's cache files, wherever they are defined: do not rename them."""
from typedcall.numba.cache import Symbol, type_again

__all__ = ["Symbol", "type_again"]
