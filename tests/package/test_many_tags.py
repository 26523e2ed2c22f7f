"""Tests that time and memory do not grow faster than the number of tagged functions."""
import ctypes
import gc
import time
import unittest
import weakref

import support
import typedcall
from support import leaks

plain = support.build("plain_functions")
HALF = plain.addresses["half"]


class Keeper:
    pass


@support.ON_CPYTHON  # CPython's
class ManyTags(unittest.TestCase):
    def seconds(self, tag, things):
        started = time.process_time()
        for thing in things:
            tag(thing)
        return time.process_time() - started

    def check_time(self, tag, make, few=8000):
        """Checks that tagging sixteen times as many objects takes at most 60 times as long. Quadratic time would be 256
        times as long."""
        few_things, many_things = [make() for _ in range(few)], [make() for _ in range(16 * few)]
        short = min(self.seconds(tag, part) for part in (few_things, many_things[:few]))
        self.assertLess(self.seconds(tag, many_things), 60 * short + 0.2)
        return many_things

    @support.timing
    def test_different_keepers(self):
        from typedcall.native import _native

        def function(x):
            return x

        self.check_time(lambda keeper: _native.tag(function, [("d->d", 0, HALF)], keeper), Keeper)

    @support.timing
    def test_owners_of_one_row(self):
        address = ctypes.cast(ctypes.pythonapi.PyObject_Repr, ctypes.c_void_p).value

        def make():
            kind = type("Kind", (list,), {"append": None})
            return super(kind, kind()).append

        functions = self.check_time(lambda f: typedcall.tag(f, "O->O", address, flags=5), make, 2000)
        started = time.process_time()
        functions.clear()
        gc.collect()
        self.assertLess(time.process_time() - started, 5)
        typedcall.untag([].append)

    def test_the_same_pointer_costs_nothing_more(self):
        def function(x):
            return x

        pointer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(HALF)
        room = (type(pointer) * 2)(pointer, pointer)
        for each in (pointer, room[1]):  # the second pointer refers to the array
            leaks.check(lambda: typedcall.tag(function, "d->d", each), 2000, warm_up=1000, blocks=200)

    def test_what_is_in_a_tuple_is_kept(self):
        from typedcall.native import _native

        def function(x):
            return x

        keepers = [Keeper() for _ in range(100)]
        alive = [weakref.ref(keeper) for keeper in keepers]
        for at in range(0, 100, 4):
            _native.tag(function, [("d->d", 0, HALF)], tuple(keepers[at:at + 4]))
            _native.tag(function, [("d->d", 0, HALF)], (function, keepers[0]))
        keepers.clear()
        gc.collect()
        self.assertNotIn(None, [reference() for reference in alive])
        gone = weakref.ref(function)
        del function
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual([reference() for reference in alive], [None] * 100)
