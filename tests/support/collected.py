"""Removes cases for other runtimes, so that skips only report what the machine lacks, such as a library. Works in files
that unittest, Bazel's runner or pytest loads."""
import unittest

# The names of the cases that only_if() has removed, by module. A file without other cases is not an error.
LEFT_OUT = {}


class NotCollected(unittest.SkipTest):
    """Raised when an imported file has no case for this runtime."""


def _is_case(decorated):
    if isinstance(decorated, type):
        return bool(unittest.defaultTestLoader.getTestCaseNames(decorated))
    return decorated.__name__.startswith("test")


def only_if(condition):
    """Decorates a TestCase class or a test method, and removes it if the condition is false.

    The name of a removed case becomes None. So no class may derive from a decorated class; and this decorator must be
    the outermost one, because a unittest skip would turn None into a function."""
    def decorate(decorated):
        if condition:
            return decorated
        if _is_case(decorated):
            LEFT_OUT.setdefault(decorated.__module__, []).append(decorated.__qualname__)
        return None

    return decorate


def module_only_if(condition, why):
    """Removes all cases of a file if the condition is false. Call this at the top of the file."""
    if not condition:
        raise NotCollected(why)
