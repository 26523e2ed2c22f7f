"""Reads pointers of other libraries and the arguments of tag()."""
