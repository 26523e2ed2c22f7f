"""The name used in pickles of ufuncs, wherever it is defined: do not rename it."""
from typedcall.numpy.ufunc import _ufunc_again

__all__ = ["_ufunc_again"]
