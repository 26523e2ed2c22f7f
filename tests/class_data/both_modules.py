"""A base for test cases that run once for each module of the example."""

import importlib
import os
import unittest

NO_CYTHON = os.environ.get("TYPEDCALL_NO_CYTHON", "")


class InCpp(unittest.TestCase):
    """A base for test cases. For Cython, a second class derives from the test case and InCython."""

    module_name = "greetings_cpp"
    NO_MODULE = ""  # the reason for the skip if the module is missing

    @classmethod
    def setUpClass(cls):
        cls.module = importlib.import_module(cls.module_name)
        cls.Greet, cls.Hello = cls.module.Greet, cls.module.Hello
        cls.GoodMorning = cls.module.GoodMorning


@unittest.skipIf(NO_CYTHON, NO_CYTHON)
class InCython(InCpp):
    module_name = "greetings_cython"
    NO_MODULE = NO_CYTHON
