"""Typed functions as ufuncs and generalised ufuncs."""
