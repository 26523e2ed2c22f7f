"""The extension module `_native`, and its replacement for installations without it."""
