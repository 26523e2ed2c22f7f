"""Leaves out cases for another runtime, so that a skip only reports what the machine could have but lacks, such as a
library. For files that unittest, Bazel's runner or pytest loads."""
import unittest

# By module, the names of the cases that only_if() has left out: a file with no other cases is no error.
LEFT_OUT = {}


class NotCollected(unittest.SkipTest):
    """Raised on import of a file none of whose cases are for this runtime."""


def _is_case(decorated):
    if isinstance(decorated, type):
        return bool(unittest.defaultTestLoader.getTestCaseNames(decorated))
    return decorated.__name__.startswith("test")


def only_if(condition):
    """Decorates a TestCase class or a test method, and removes it if the condition is false.

    Its name is then None: no other class may derive from a decorated class, and this decorator must be the
    outermost one, because a unittest skip would make a function of the None."""
    def decorate(decorated):
        if condition:
            return decorated
        if _is_case(decorated):
            LEFT_OUT.setdefault(decorated.__module__, []).append(decorated.__qualname__)
        return None

    return decorate


def module_only_if(condition, why):
    """Call at the top of a file: if the condition is false, the file has no cases."""
    if not condition:
        raise NotCollected(why)
