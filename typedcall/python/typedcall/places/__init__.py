"""Pointers of other libraries, and tags."""
