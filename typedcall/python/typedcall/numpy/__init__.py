"""Makes ufuncs and generalised ufuncs from typed functions."""
