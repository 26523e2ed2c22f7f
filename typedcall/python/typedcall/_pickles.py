"""The names used in pickles of TypedFunctions and ufuncs, wherever they are defined: do not rename them."""
from typedcall.calling.pickles import Provider, _resolve_again, read

__all__ = ["Provider", "_resolve_again", "read"]
