"""Removes cases for other runtimes, so that skips report only what is missing on the machine."""
import unittest

# The names of the cases that only_if() has removed, by module.
LEFT_OUT = {}


class NotCollected(unittest.SkipTest):
    """Raised when an imported file has no case for this runtime."""


def _is_case(decorated):
    if isinstance(decorated, type):
        return bool(unittest.defaultTestLoader.getTestCaseNames(decorated))
    return decorated.__name__.startswith("test")


def only_if(condition):
    """Removes the decorated class or test method if the condition is false.

    The name of a removed case becomes None, so no class may derive from a decorated class. This
    decorator must be the outermost one."""
    def decorate(decorated):
        if condition:
            return decorated
        if _is_case(decorated):
            LEFT_OUT.setdefault(decorated.__module__, []).append(decorated.__qualname__)
        return None

    return decorate


def module_only_if(condition, why):
    """Removes all cases of a file if the condition is false. Must be called at the top of the
    file."""
    if not condition:
        raise NotCollected(why)
