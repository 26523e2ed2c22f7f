"""Libraries for tests that Bazel runs. If the environment names a library, tests must be able to
import it."""
import importlib.util
import os
import sys

FOLDER = os.environ.get("TYPEDCALL_LIBRARIES", "")
sys.path += filter(None, [FOLDER])


def is_expected(name):
    return bool(FOLDER) or importlib.util.find_spec(name) is not None
