"""A base for test cases that run once for each module of the example."""

import importlib
import os
import unittest

NO_CYTHON = os.environ.get("TYPEDCALL_NO_CYTHON", "")


class InCpp(unittest.TestCase):
    """A base for test cases. For Cython, a second class derives from the test case and InCython."""

    module_name = "units_cpp"
    NO_MODULE = ""  # the reason for the skip if the module is missing

    @classmethod
    def setUpClass(cls):
        cls.module = importlib.import_module(cls.module_name)
        cls.Mass, cls.Ounce = cls.module.Mass, cls.module.Ounce
        cls.Kilogram = cls.module.Kilogram


@unittest.skipIf(NO_CYTHON, NO_CYTHON)
class InCython(InCpp):
    module_name = "units_cython"
    NO_MODULE = NO_CYTHON
