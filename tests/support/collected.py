"""Cases of another runtime, which are not there at all: what a skip reports is what the machine could
have and does not, such as a library. For files that unittest, Bazel's runner or pytest loads."""
import unittest

# By module, the names of the cases that only_if() has left out: a file with nothing else is no error.
LEFT_OUT = {}


class NotCollected(unittest.SkipTest):
    """Raised while a file is imported, none of whose cases are for this runtime."""


def _is_case(decorated):
    if isinstance(decorated, type):
        return bool(unittest.defaultTestLoader.getTestCaseNames(decorated))
    return decorated.__name__.startswith("test")


def only_if(condition):
    """Decorates a TestCase class or a test method: where the condition is false there is none.

    What is left in the place of it is None: no other class derives from a class that is decorated, and other
    decorators stand below this one, as a skip of unittest's would make a function of the None."""
    def decorate(decorated):
        if condition:
            return decorated
        if _is_case(decorated):
            LEFT_OUT.setdefault(decorated.__module__, []).append(decorated.__qualname__)
        return None

    return decorate


def module_only_if(condition, why):
    """At the top of a file: where the condition is false, the file has no cases."""
    if not condition:
        raise NotCollected(why)
