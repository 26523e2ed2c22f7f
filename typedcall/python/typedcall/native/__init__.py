"""The extension module `_native`, and its replacement for installations without it. All other modules use one of
them."""
