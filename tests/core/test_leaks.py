# Tests that types, subclasses and instances do not leak.
import unittest

import leaks
import provider_a
from extensible_types import Metaclass, make, slots

TIMES = 1000


class Leaks(unittest.TestCase):
    def check(self, function):
        # The warm-up fills free lists and caches.
        leaks.check(function, TIMES, warm_up=TIMES, blocks=TIMES // 10, references=TIMES // 10,
                    unchanged=[Metaclass])

    def test_types(self):
        self.check(lambda: make({1: 11}))

    def test_types_without_slots(self):
        self.check(lambda: make({}))

    def test_subclasses_and_instances(self):
        def use():
            class C(make({1: 11, 2: 22})):
                pass

            class D(make({2: 2}), C):
                pass

            c, d = C(), D()
            c.cycle = c
            assert slots(c) == {1: 11, 2: 22} and slots(d) == {2: 2, 1: 11}

        self.check(use)

    def test_extensible_bases(self):
        base = make({1: 11})
        self.check(lambda: make({2: 22}, base))

    def test_types_past_the_metaclass(self):
        base = make({1: 11})

        def use():
            assert slots(type.__new__(Metaclass, "C", (base,), {})()) == {1: 11}
            type.__new__(Metaclass, "never looked at", (base,), {})

        self.check(use)

    def test_derived_metaclasses(self):
        base = make({1: 11})

        def use():
            class Meta(Metaclass):
                pass

            class C(base, metaclass=Meta):
                pass

            Meta.made = C  # the collector must visit the metaclass of a class
            assert slots(C()) == {1: 11}

        self.check(use)

    def test_refusals(self):
        base = make({1: 11})

        def use():
            for bad in (lambda: make({}, (int, str)), lambda: make({}, (base, bool)), lambda: make({}, 5),
                        lambda: Metaclass("C", (base, base), {}),
                        lambda: Metaclass("C", (base,), {"__slots__": 5})):
                self.assertRaises(TypeError, bad)

        self.check(use)

    def test_duplicates_refused(self):
        # The ideas 0 and 0x10000 have the same ID in make().
        def use():
            self.assertRaises(ValueError, make, {0: 1, 0x10000: 2})

        self.check(use)

    def test_bases_assigned(self):
        old, new = make({1: 11}), make({2: 22})

        def use():
            left = type("L", (old,), {"__slots__": ()})
            right = type("R", (new,), {"__slots__": ()})
            cls = type("C", (left,), {})
            cls.__bases__ = (right,)
            assert slots(cls()) == {1: 11}

        self.check(use)

    def test_modules_executed_again(self):
        import test_providers
        self.check(lambda: test_providers.load_again(provider_a))

    def test_the_count_sees_a_leak(self):
        kept = []
        with self.assertRaisesRegex(AssertionError, "^leak: "):
            self.check(lambda: kept.append(make({1: 11})))
