"""The compiled modules that all others build on, and a stand-in for installations without them."""
