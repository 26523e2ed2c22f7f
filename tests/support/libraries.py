"""Finds optional libraries for tests that Bazel runs. If TYPEDCALL_LIBRARIES names a folder, every
library is expected to be importable."""
import importlib.util
import os
import sys

FOLDER = os.environ.get("TYPEDCALL_LIBRARIES", "")
sys.path += filter(None, [FOLDER])


def is_expected(name):
    return bool(FOLDER) or importlib.util.find_spec(name) is not None
