"""Holds the names that pickles of TypedFunctions and ufuncs refer to. Do not rename them, even if their definitions
move."""
from typedcall.calling.pickles import Provider, _resolve_again, read

__all__ = ["Provider", "_resolve_again", "read"]
