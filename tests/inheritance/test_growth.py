# Ten thousand classes made, subclassed in every common way and dropped: what the last thousand
# leaves is compared with what the first thousand left, in blocks, references and resident memory.
import gc
import os
import sys
import unittest

import foreign_classes as foreign
from slot_ids import ID, slots
from slot_probe import Metaclass, check, find, make

THOUSANDS = 10


def resident():
    """Bytes; what the kernel counts, so it sees what no allocator does. A sanitizer that keeps
    freed memory back would only be measured itself."""
    if "ASAN_OPTIONS" in os.environ:
        return 0
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Forgetful(Metaclass):
    def __init__(cls, *args):
        pass


class Growth(unittest.TestCase):
    def check(self, one_turn, types_a_turn, bytes_a_type=40):
        turns = 1000 // types_a_turn
        measured = []
        for _ in range(THOUSANDS + 1):  # one more, in front: caches fill up
            for turn in range(turns):
                one_turn(turn)
            for _ in range(3):
                gc.collect()
            measured.append((sys.getallocatedblocks(), resident(), sys.getrefcount(Metaclass),
                             getattr(sys, "gettotalrefcount", lambda: 0)()))
        first, last = measured[1], measured[-1]
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            # There some blocks wait until no thread can be reading them, and by chance just then:
            # what has been lost was lost in the round before, too.
            last = min(measured[-2:])
        types = turns * types_a_turn * (THOUSANDS - 1)
        self.assertLess(last[0] - first[0], types // 100, measured)
        self.assertLess(last[1] - first[1], types * bytes_a_type, measured)
        self.assertEqual(last[2], first[2], measured)
        self.assertLess(last[3] - first[3], types // 100, measured)

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
        with self.assertRaises(AssertionError):
            self.check(lambda i: kept.append(make(slots((1, 11)))), 1)


if __name__ == "__main__":
    unittest.main()
