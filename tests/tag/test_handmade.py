"""Tests defs that are written in plain C with the macros."""

import gc
import importlib
import inspect
import sys
import unittest

from collected import only_if
import handmade
import handmade_flagged

BITS_ARE_FREE = sys.version_info < (3, 11)


class Defs(unittest.TestCase):
    def test_they_are_ordinary_functions(self):
        for module in (handmade, handmade_flagged):
            self.assertEqual(module.inc(-2), -1)
            self.assertEqual(module.half(3.0), 1.5)
            self.assertEqual(module.half(7), 3)
            self.assertEqual((module.inc.__name__, module.half.__name__), ("inc", "half"))
            self.assertEqual(module.inc.__doc__, "Add one.")
            self.assertEqual(str(inspect.signature(module.half)), "(x, /)")
            for call in (module.inc, lambda: module.inc("1"), lambda: module.half(1, 2)):
                with self.assertRaises(TypeError):
                    call()
            with self.assertRaises(OverflowError):
                module.inc(2**64)

    def test_where_the_tag_is(self):
        usual = "bits" if BITS_ARE_FREE else "side table"
        self.assertEqual(handmade.where(handmade.inc), (usual, ["l->l"]))
        self.assertEqual(handmade.where(handmade.half), (usual, ["d->d", "l->l"]))
        self.assertEqual(handmade.where(handmade_flagged.inc), ("bits", ["l->l"]))
        for function in (handmade.untagged, handmade.where, len, [].append):
            self.assertEqual(handmade.where(function), ("nowhere", []))

    def test_what_pypy_would_read(self):
        self.assertEqual(handmade.pypy(handmade_flagged.inc), "l->l")
        # PyPy's codes cannot express overloads.
        self.assertIsNone(handmade.pypy(handmade_flagged.half))
        self.assertEqual(handmade.pypy(handmade.inc), "l->l" if BITS_ARE_FREE else None)

    @only_if(not BITS_ARE_FREE)  # otherwise defs have the bits and need no side table
    def test_the_row_goes_with_the_last_module_made_from_it(self):
        first = sys.modules.pop("handmade")
        second = importlib.import_module("handmade")
        self.addCleanup(sys.modules.__setitem__, "handmade", first)
        self.assertIsNot(first, second)
        self.assertEqual(second.where(second.inc)[0], "side table")
        del second, sys.modules["handmade"]
        gc.collect()
        self.assertEqual(handmade.where(handmade.inc)[0], "side table")
