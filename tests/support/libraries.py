"""Makes the libraries of the gate's environment importable, for tests that Bazel runs: it has none itself.
Whoever wants one imports this first, and skips without it."""
import os
import sys

sys.path += filter(None, [os.environ.get("TYPEDCALL_LIBRARIES")])
