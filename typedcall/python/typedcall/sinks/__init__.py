"""Converts typed functions to functions of other libraries, with one folder or module for each library."""
