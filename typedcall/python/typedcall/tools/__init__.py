"""Safe queries of other libraries' objects, locks, and tables by identity."""
