"""Libraries of the gate's environment, for tests that Bazel runs: where it names one, they can be imported,
and have to be. Elsewhere the tests that want one are there if the interpreter has it."""
import importlib.util
import os
import sys

FOLDER = os.environ.get("TYPEDCALL_LIBRARIES", "")
sys.path += filter(None, [FOLDER])


def is_expected(name):
    return bool(FOLDER) or importlib.util.find_spec(name) is not None
