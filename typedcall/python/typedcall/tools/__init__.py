"""Questions to objects of other libraries that never raise, locks, and tables by identity."""
