"""Holds the names that pickles of TypedFunctions and ufuncs refer to. These names must not change."""
from typedcall.calling.pickles import Provider, _resolve_again, read

__all__ = ["Provider", "_resolve_again", "read"]
