"""Asks callables for their entries, tags them, and calls entries as Python would call the callable."""
