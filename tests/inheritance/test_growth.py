# Tests that thousands of classes leak no blocks, references or resident memory.
import os
import unittest

import foreign_classes as foreign
import leaks
from slot_ids import ID, slots
from slot_tools import Metaclass, check, find, make

THOUSANDS = 9


class Forgetful(Metaclass):
    def __init__(cls, *args):
        pass


class Growth(unittest.TestCase):
    def check(self, one_turn, types_a_turn, bytes_a_type=40):
        turns = 1000 // types_a_turn

        def thousand():
            for turn in range(turns):
                one_turn(turn)
            leaks.collect()

        types = turns * types_a_turn * THOUSANDS
        leaks.check(thousand, THOUSANDS, warm_up=2, blocks=types // 100, references=types // 100, unchanged=[Metaclass],
                    # ASan keeps freed memory.
                    kilobytes=None if "ASAN_OPTIONS" in os.environ else types * bytes_a_type // 1024)

    def test_made_subclassed_and_dropped(self):
        def turn(i):
            base, other = make(slots((1, 11), (2, i))), make(slots((3, 33)))

            class C(base):
                attribute = i

            class D(other, C):
                __slots__ = ("a",)

            late = foreign.by_type_new(Metaclass, (D,))
            assert find(late(), ID(1)) == 11 and find(D(), ID(3)) == 33

        self.check(turn, 5)

    def test_never_looked_at(self):
        base = make(slots((1, 11)))
        self.check(lambda i: [foreign.by_type_new(Metaclass, (base,)), Forgetful("F", (base,), {})],
                   2)

    def test_bases_assigned(self):
        left, right = (type("S", (make(slots(pair)),), {"__slots__": ()})
                       for pair in ((1, 11), (2, 22)))

        def turn(i):
            middle = type("M", (left,), {"__slots__": ()})
            cls = type("C", (middle,), {})
            cls.__bases__ = (right,)
            del middle
            assert find(cls(), ID(1)) == 11
            assert find(type("D", (cls,), {})(), ID(2)) == 22

        self.check(turn, 3)

    def test_classes_that_fail_half_way(self):
        base = make(slots((1, 11)))

        class Refusing(base):
            def __init_subclass__(cls):
                assert check(cls.__new__(cls))
                raise KeyError

        def turn(i):
            for wrong in (lambda: type("C", (Refusing,), {}), lambda: Metaclass("C", (base, 5), {}),
                          lambda: make([(0, 0)], (base,)), lambda: make(slots((1, 1), (1, 2)))):
                try:
                    wrong()
                except (KeyError, TypeError, ValueError, RuntimeError):
                    continue
                raise AssertionError

        self.check(turn, 4)

    def test_the_count_sees_a_leak(self):
        kept = []
        with self.assertRaisesRegex(AssertionError, "^leak: "):
            self.check(lambda i: kept.append(make(slots((1, 11)))), 1)
