"""Tests the example of a vendored provider."""
import inspect
import math
import unittest

import geometry
import look


class Example(unittest.TestCase):
    def test_functions(self):
        largest = 2**63 - 1
        for a, b in [(12, 18), (-12, 18), (0, 0), (0, 5), (largest, 7), (1, -2**63)]:
            self.assertEqual(geometry.gcd(a, b), math.gcd(a, b))
        self.assertEqual(geometry.clamp(3.0, high=2.0), 2.0)
        self.assertEqual(geometry.clamp(-1), 0.0)
        self.assertEqual(str(inspect.signature(geometry.clamp)), "(x, low=0.0, high=1.0)")
        for wrong in (lambda: geometry.gcd(1), lambda: geometry.gcd(1, "2"),
                      lambda: geometry.clamp(), lambda: geometry.clamp(1.0, middle=2.0)):
            self.assertRaises(TypeError, wrong)
        self.assertRaises(OverflowError, geometry.gcd, 2**63, 1)

    def test_type(self):
        line = geometry.Line(2.0, 1.0)
        self.assertEqual((line.at(3.0), line.at(-1.5)), (7.0, -2.0))
        self.assertEqual(geometry.Line.slope(0, 0, 1, 2), 2.0)
        for wrong in (lambda: geometry.Line.at(1.0, 2.0), lambda: line.at("1"),
                      lambda: geometry.Line(1.0), lambda: geometry.Line(slope=1.0)):
            self.assertRaises(TypeError, wrong)


    def test_what_consumers_see(self):
        line = geometry.Line(2.0, 1.0)
        for callable_, signatures in [(geometry.gcd, ["ll->l"]), (geometry.clamp, ["ddd->d"]),
                                      (line.at, ["d->d"]), (geometry.Line.at, ["d->d"]),
                                      (geometry.Line.slope, ["dddd->d"])]:
            places = look.places(callable_)
            self.assertTrue({"bits", "side table"} & set(places), places)
            for entries in places.values():
                self.assertEqual([signature for signature, _ in entries], signatures)
        self.assertEqual("sibling" in look.places(geometry.gcd), True)
        self.assertEqual(look.call(line.at, line, "d->d", 3.0), line.at(3.0))
