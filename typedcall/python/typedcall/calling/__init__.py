"""Finds entries, tags callables, and calls entries with the semantics of Python."""
