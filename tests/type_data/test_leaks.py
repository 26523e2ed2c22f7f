"""Tests that types leak no references and no memory blocks."""

import itertools
import unittest

import class_data_module as cd
import foreign_module as foreign
import leaks
import type_data_module as td

SPECIAL = td.READONLY | td.RELATIVE
MEMBERS = [("a", td.T_INT, 0, td.RELATIVE), ("b", td.T_OBJECT_EX, 8, td.RELATIVE),
           ("__weaklistoffset__", td.T_PYSSIZET, 16, SPECIAL)]
# Without Py_DEBUG, the references of the module are not counted.
COUNTS_REFERENCES = td.COUNTS_REFERENCES
BASES = [object, list, dict, set, Exception, foreign.Odd, foreign.Static]


class Leaks(unittest.TestCase):
    def assert_no_leak(self, function, times):
        # Caches keep a few references and blocks.
        leaks.check(function, times, warm_up=300, blocks=times // 10,
                    references=times // 10 if COUNTS_REFERENCES else None)

    def test_types(self):
        bases = itertools.cycle(BASES)
        self.assert_no_leak(lambda: td.make(next(bases), -24, members=MEMBERS), 10000)

    def test_instances(self):
        bases = itertools.cycle(BASES)

        def use():
            base = next(bases)
            collected = 0 if base.__flags__ & td.HAVE_GC else td.HAVE_GC
            cls = td.make(base, -24, flags=collected, members=MEMBERS)
            instance = cls()
            instance.b = object()
            tagged = td.tagged(cls)()
            tagged.tag = tagged

        self.assert_no_leak(use, 3000)

    def test_many_instances_of_one_type(self):
        cls = td.tagged(list)

        def use():
            instance = cls([1])
            instance.tag = object()

        self.assert_no_leak(use, 10000)

    def test_classes_with_data(self):
        def use():
            cls = cd.wrap(1, object())
            derived = type(cls)("Derived", (cls,), {})
            derived.origin = cd.offer(cls, 5)

        self.assert_no_leak(use, 3000)

    def test_refusals(self):
        bad = itertools.cycle([
            (foreign.Packet, -8), (object, -8, 8), (object, -8, -1),
            (object, 0, 0, td.ITEMS_AT_END), (object, 0, 0, 0, MEMBERS),
            (object, -20, 0, 0, MEMBERS), ((object, int), -24),
            ((), -24), (bool, -24), (object, -24, 0, 0, MEMBERS, int),
        ])

        def refuse():
            with self.assertRaises((SystemError, TypeError)):
                td.make(*next(bad))

        self.assert_no_leak(refuse, 5000)
