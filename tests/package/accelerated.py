"""Shared by the tests of typedcall.accelerate: the accelerated versions of two modules of typed functions, and the
original functions."""
import unittest

import support
from typedcall.pypy import accelerate, restore

ON_PYPY = support.ON_PYPY  # accelerate() replaces functions on PyPy only


class Index:
    def __index__(self):
        return 7


class Real:
    def __float__(self):
        return 2.5


def outcome(function, args, keywords=None):
    """Returns the result with its type, or the exception with its type and text."""
    try:
        result = function(*args, **(keywords or {}))
    except Exception as error:
        return type(error), str(error)
    return type(result), repr(result)


class Accelerated(unittest.TestCase):
    """A base class that accelerates the two modules of typed functions for each test, and keeps the original
    functions."""

    def setUp(self):
        self.functions = support.build("typed_functions")
        self.counting = support.build("pypy_functions")
        restore(self.functions)
        restore(self.counting)
        self.boxed = dict(vars(self.functions))
        self.boxed_counting = dict(vars(self.counting))
        self.done = accelerate(self.functions)
        # Neither of the trusted functions declares that it can run without the GIL.
        self.done_counting = accelerate(self.counting, trust=["nothing", "none"])
        self.addCleanup(restore, self.functions)
        self.addCleanup(restore, self.counting)

    def calls(self, function, *args, **keywords):
        """Returns (native, boxed): the numbers of native and boxed calls that one call makes."""
        counts = self.boxed_counting["counts"]
        native, boxed = counts()
        outcome(function, args, keywords)
        return tuple(now - then for now, then in zip(counts(), (native, boxed)))
