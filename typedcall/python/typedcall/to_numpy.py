"""Holds the name that pickles of ufuncs refer to. This name must not change."""
from typedcall.numpy.ufunc import _ufunc_again

__all__ = ["_ufunc_again"]
