"""Finds entries and tags callables, and calls entries as Python would call the callable."""
