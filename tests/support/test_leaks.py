"""Tests that the leak counter finds planted leaks."""
import gc
import os
import unittest

import leaks
from collected import only_if


class Kept:
    def __init__(self):
        self.itself = self  # a cycle for the garbage collector


class Leaks(unittest.TestCase):
    def setUp(self):
        self.kept = []

    def lost(self, *arguments, **limits):
        with self.assertRaisesRegex(AssertionError, "^leak: ") as caught:
            leaks.check(*arguments, **limits)
        return str(caught.exception)

    def test_nothing(self):
        leaks.check(Kept, 1000, warm_up=100, blocks=50, references=50, objects=50,
                    unchanged=(Kept, self.kept))
        leaks.check(Kept, 1000, warm_up=100, blocks=50, both_ways=True)

    # Under a sanitizer, no blocks are counted.
    @only_if(not os.environ.get("PYTHONMALLOC", "").startswith("malloc"))
    def test_blocks(self):
        said = self.lost(lambda: self.kept.append(object()), 1000, warm_up=100, blocks=500)
        self.assertRegex(said, r"of 1000 calls are left, round by round: blocks \+1\d\d\d, .* \(limit 500\)")

    def test_objects(self):
        said = self.lost(lambda: self.kept.append(Kept()), 1000, warm_up=100, objects=500)
        self.assertRegex(said, r"objects \+[12]\d\d\d, .* \(limit 500\)")

    def test_references(self):
        one = Kept()  # newer builds do not count references to None

        def keep():
            self.kept.append(one)

        if leaks.COUNTS_REFERENCES:
            self.assertIn("references +", self.lost(keep, 1000, warm_up=100, references=500))
        else:
            leaks.check(keep, 1000, warm_up=100, references=500)

    def test_references_to_one_object(self):
        one = Kept()
        said = self.lost(lambda: self.kept.append(one), 1, warm_up=0, unchanged=[one])
        self.assertIn("references to <", said)
        self.kept = [one] * 50
        self.assertIn(" -1 ", self.lost(self.kept.pop, 1, warm_up=0, unchanged=[one]))

    def test_memory(self):
        room = 1 << 20

        def keep():
            self.kept.append(bytearray(b"x") * room)

        for measure in (leaks.resident, leaks.peak):
            said = self.lost(keep, 40, warm_up=1, kilobytes=20000, kilobytes_of=measure)
            self.assertIn("kilobytes +", said)
            leaks.check(lambda: bytearray(b"x") * 1000, 40, warm_up=1, kilobytes=20000,
                        kilobytes_of=measure)

    def test_what_fills_up_once_is_none(self):
        def fill():
            if len(self.kept) < 1500:
                self.kept.append(Kept())

        self.assertRegex(self.lost(fill, 1000, warm_up=0, objects=500, rounds=1), r"objects \+\d+ \(")
        self.kept.clear()
        leaks.check(fill, 1000, warm_up=0, objects=500)
        said = self.lost(lambda: self.kept.append(Kept()), 1000, warm_up=0, objects=500)
        self.assertEqual(said.count("+"), 3)

    def test_what_is_given_back(self):
        self.kept.extend(Kept() for _ in range(5000))
        gc.collect()
        leaks.check(self.kept.pop, 1000, warm_up=0, objects=500)
        self.assertRegex(self.lost(self.kept.pop, 1000, warm_up=0, objects=500, both_ways=True), r"objects -\d")

    def test_a_function_that_takes_the_count(self):
        counts = []
        leaks.check(counts.append, 1000, warm_up=7, objects=500, takes_count=True)
        self.assertEqual(counts, [7, 1000])
