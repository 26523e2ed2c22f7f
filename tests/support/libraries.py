"""Libraries of the gate's environment, for tests that Bazel runs: if it names one, tests must be able to import it.
Elsewhere the tests run that need a library which the interpreter has."""
import importlib.util
import os
import sys

FOLDER = os.environ.get("TYPEDCALL_LIBRARIES", "")
sys.path += filter(None, [FOLDER])


def is_expected(name):
    return bool(FOLDER) or importlib.util.find_spec(name) is not None
