"""Holds the name that pickles of ufuncs refer to. Do not rename it, even if its definition moves."""
from typedcall.numpy.ufunc import _ufunc_again

__all__ = ["_ufunc_again"]
