"""The compiled modules that all others build on, and their stand-in where there is none."""
