"""Where entries come from and go to: pointers of other libraries, and tags."""
