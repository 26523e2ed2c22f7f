"""Typed functions as functions of other libraries, one folder or module for each library."""
