"""Shared by the tests of typedcall.accelerate."""
import unittest

import support
from typedcall.pypy import accelerate, restore

ON_PYPY = support.ON_PYPY  # accelerate() replaces functions only on PyPy


class Index:
    def __index__(self):
        return 7


class Real:
    def __float__(self):
        return 2.5


def outcome(function, args, keywords=None):
    """Returns the result and its type, or the exception's type and text."""
    try:
        result = function(*args, **(keywords or {}))
    except Exception as error:
        return type(error), str(error)
    return type(result), repr(result)


class Accelerated(unittest.TestCase):
    """A base class that accelerates two modules for each test."""

    def setUp(self):
        self.functions = support.build("typed_functions")
        self.counting = support.build("pypy_functions")
        restore(self.functions)
        restore(self.counting)
        self.boxed = dict(vars(self.functions))
        self.boxed_counting = dict(vars(self.counting))
        self.done = accelerate(self.functions)
        # These two functions do not declare that they can run without the GIL.
        self.done_counting = accelerate(self.counting, trust=["nothing", "none"])
        self.addCleanup(restore, self.functions)
        self.addCleanup(restore, self.counting)

    def calls(self, function, *args, **keywords):
        """Returns how many native and how many boxed calls one call makes."""
        counts = self.boxed_counting["counts"]
        native, boxed = counts()
        outcome(function, args, keywords)
        return tuple(now - then for now, then in zip(counts(), (native, boxed)))
