"""Tests that the rules of PEP 697 hold on every version of CPython."""

import gc
import itertools
import sys
import unittest

import foreign_module as foreign
import type_data_module as td

REFUSED = SystemError
UNKNOWN = RuntimeError if sys.version_info < (3, 15) else SystemError
FLAG = td.ITEMS_AT_END
INT_MIN = -2**31


class Bare:
    """A class of fixed size."""
    __slots__ = ()


# A base that declares where its items are.
Declared = td.make(foreign.Packet, 0, flags=FLAG)

BASES = {"fixed": Bare, "items": foreign.Packet, "items at end": Declared, "type": type}
INHERITED = {name: base.__itemsize__ for name, base in BASES.items()}

# {(basicsize, base, flag in the spec): outcomes for itemsize 0 and 8}
TREE = {
    (+1, "fixed", 0): (0, 8),
    (+1, "fixed", FLAG): (REFUSED, 8),  # this flag needs a nonzero tp_itemsize
    (+1, "items", 0): ("inherited", 8),
    (+1, "items", FLAG): ("inherited", 8),
    (+1, "items at end", 0): ("inherited", 8),
    (+1, "items at end", FLAG): ("inherited", 8),
    (+1, "type", 0): ("inherited", 8),
    (+1, "type", FLAG): ("inherited", 8),
    (0, "fixed", 0): (0, 8),
    (0, "fixed", FLAG): (REFUSED, 8),
    (0, "items", 0): ("inherited", 8),
    (0, "items", FLAG): ("inherited", 8),
    (0, "items at end", 0): ("inherited", 8),
    (0, "items at end", FLAG): ("inherited", 8),
    (0, "type", 0): ("inherited", 8),
    (0, "type", FLAG): ("inherited", 8),
    (-1, "fixed", 0): (0, REFUSED),
    (-1, "fixed", FLAG): (REFUSED, REFUSED),
    (-1, "items", 0): (REFUSED, REFUSED),
    (-1, "items", FLAG): ("inherited", REFUSED),
    (-1, "items at end", 0): ("inherited", REFUSED),
    (-1, "items at end", FLAG): ("inherited", REFUSED),
    (-1, "type", 0): ("inherited", REFUSED),
    (-1, "type", FLAG): ("inherited", REFUSED),
}


def up(size):
    return -(-size // td.ALIGNMENT) * td.ALIGNMENT


class DecisionTree(unittest.TestCase):
    def test_complete(self):
        self.assertEqual(set(TREE), set(itertools.product((1, 0, -1), BASES, (0, FLAG))))
        self.assertEqual(INHERITED["fixed"], 0)
        self.assertNotIn(8, INHERITED.values())

    def test_every_case(self):
        for ((sign, name, flag), outcomes), extra in itertools.product(TREE.items(), (1, 16, 40)):
            base = BASES[name]
            basicsize = {1: base.__basicsize__ + up(extra), 0: 0, -1: -extra}[sign]
            expected_size = {1: basicsize, 0: base.__basicsize__,
                             -1: up(base.__basicsize__) + up(extra)}[sign]
            for itemsize, outcome in zip((0, 8, -8), outcomes + (REFUSED,)):
                with self.subTest(basicsize=basicsize, base=name, flag=flag, itemsize=itemsize):
                    if outcome is REFUSED:
                        with self.assertRaises(REFUSED):
                            td.make(base, basicsize, itemsize, flag)
                        continue
                    layout = td.layout(td.make(base, basicsize, itemsize, flag))
                    self.assertEqual(layout["itemsize"],
                                     INHERITED[name] if outcome == "inherited" else outcome)
                    self.assertEqual(layout["basicsize"], expected_size)
                    self.assertEqual(layout["at_end"],
                                     bool(flag) or name in ("items at end", "type"))

    def test_tuple_like_types(self):
        for base in (tuple, int, bytes):
            with self.assertRaisesRegex(SystemError, "Py_TPFLAGS_ITEMS_AT_END"):
                td.make(base, -8)
            self.assertEqual(td.layout(td.make(base, 0))["itemsize"], base.__itemsize__)

    def test_flag_is_inherited(self):
        class Python(Declared):
            __slots__ = ()

        for base in (Python, td.make(Python, 0), td.make((Python, Bare), -8),
                     type("Meta", (type,), {})):
            self.assertEqual(td.layout(base)["at_end"], 1)
            self.assertEqual(td.layout(td.make(base, -8))["itemsize"], base.__itemsize__)
        for base in (object, list, tuple, foreign.Packet, type("Plain", (), {})):
            self.assertEqual(td.layout(base)["at_end"], 0)


class Refusals(unittest.TestCase):
    def check(self, text, *args, error=SystemError, **kwargs):
        before = Bare.__subclasses__()
        with self.assertRaisesRegex(error, text):
            td.make(*args, **kwargs)
        gc.collect()
        self.assertEqual(Bare.__subclasses__(), before)

    def member(self, offset, flags=td.RELATIVE, kind=td.T_INT, name="a"):
        return [("b", td.T_INT, 0, flags & td.RELATIVE), (name, kind, offset, flags)]

    def test_relative_members_need_a_negative_basicsize(self):
        for basicsize in (0, Bare.__basicsize__ + 16):
            self.check("a relative offset needs a negative basicsize", Bare, basicsize, members=self.member(0))

    def test_negative_basicsize_needs_relative_members(self):
        for flags in (0, td.READONLY):
            self.check("needs relative offsets", Bare, -8, members=self.member(0, flags))
        members = self.member(0) + [("c", td.T_INT, 4, 0)]
        self.check("'c': a negative basicsize needs", Bare, -8, members=members)

    def test_offsets(self):
        for offset in (8, 9, -1, 2**40, -2**40):
            self.check("'a': the offset is outside the data", Bare, -8, members=self.member(offset))
        for offset in (0, 7):
            td.make(Bare, -8, members=self.member(offset, kind=td.T_STRING_INPLACE))

    def test_special_members(self):
        for name in ("__weaklistoffset__", "__dictoffset__", "__vectorcalloffset__"):
            def one(offset, flags, kind=td.T_PYSSIZET):
                return [(name, kind, offset, flags)]

            both = td.READONLY | td.RELATIVE
            for offset in (9, 16, -8):
                self.check("outside the data", Bare, -16, members=one(offset, both))
            self.check("needs relative offsets", Bare, -16, members=one(8, td.READONLY))
            self.check("relative T_PYSSIZET", Bare, -16, members=one(8, td.RELATIVE))
            self.check("relative T_PYSSIZET", Bare, -16, members=one(8, both, td.T_INT))
            self.check("needs a negative basicsize", Bare, 0, members=one(8, both))

    def test_sizes(self):
        self.check("out of range", Bare, INT_MIN)
        if sys.version_info < (3, 12):  # before 3.12 the sum is converted to an int
            self.check("out of range", Bare, INT_MIN + 1)
        self.check("too small", Bare, 1, error=TypeError)
        self.check("itemsize is negative", Bare, -8, -1)

    def test_spec(self):
        for kind, error, text in (("unnamed", SystemError, "name"),
                                  ("two members", SystemError, "(?i)multiple Py_tp_members"),
                                  ("unknown slot", UNKNOWN, "(invalid|unknown type) slot")):
            with self.assertRaisesRegex(error, text):
                td.refuse(kind)

    def test_bases(self):
        other = td.make(Bare, -8)
        self.check("lay-out conflict", (td.make(Bare, -8), other), -8, error=TypeError)
        self.check("not an acceptable base", bool, -8, error=TypeError)
        self.check("", 5, -8, error=TypeError)
        self.check("at least one base", (), -8, error=TypeError)
        self.check("metaclass conflict", Bare, -8, metaclass=int, error=TypeError)

    def test_items(self):
        for instance in ((1, 2), 5, [], Bare(), foreign.Packet(3)):
            with self.assertRaisesRegex(TypeError, "Py_TPFLAGS_ITEMS_AT_END"):
                td.items(instance)
