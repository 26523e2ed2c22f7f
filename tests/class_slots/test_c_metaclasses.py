# Tests our metaclass combined with metaclasses written in C.
import abc
import gc
import sys
import types
import unittest
import weakref

import c_metaclasses as c
from collected import only_if
from slot_tools import make, table

import _extensibletype  # slot_tools creates this module

A, B = 0x01000101, 0x01000201
Base = make({A: 1})
combined_metaclass = _extensibletype.combined_metaclass
# Free-threaded CPython 3.13 keeps all classes alive after a second thread has run.
CLASSES_LIVE_FOR_EVER = not getattr(sys, "_is_gil_enabled", lambda: True)()


class PythonMeta(type):
    def __new__(mcs, name, bases, ns):
        return super().__new__(mcs, name, bases, {**ns, "seen": True})


class Refused(unittest.TestCase):
    def test_a_class_may_be_forbidden(self):
        """Metaclasses with a tp_new of their own are refused, because the combined metaclass would not call it."""
        class Derived(c.Forbidding):
            pass

        for others in ((), (abc.ABCMeta,), (PythonMeta,)):
            for metaclass in (c.Forbidding, Derived):
                with self.assertRaisesRegex(
                        TypeError, r"metaclass 'c_metaclasses.Forbidding' cannot be combined with the one of "
                                   r"custom slots: it has a tp_new of its own.*foreign slots instead"):
                    combined_metaclass(metaclass, *others)

    def test_fields(self):
        class Derived(c.WithFields):
            pass

        for metaclass in (c.WithFields, Derived):
            with self.assertRaisesRegex(TypeError, "cannot be combined .* it has C fields of its own"):
                combined_metaclass(abc.ABCMeta, metaclass)

    def test_two_deallocators(self):
        for pair in ((c.Counting, c.OtherCounting), (c.OtherCounting, c.HeapCounting)):
            with self.assertRaisesRegex(TypeError, "it has a tp_dealloc of its own, and so has another"):
                combined_metaclass(*pair)
        with self.assertRaisesRegex(TypeError, "and so has another"):
            combined_metaclass(combined_metaclass(c.Counting), c.OtherCounting)


class Made(unittest.TestCase):
    def test_no_tp_new_of_its_own(self):
        for metaclass in (c.Plain, c.SaysTypesNew, c.Counting):
            meta = combined_metaclass(metaclass, PythonMeta)
            made = meta("Forbidden", (Base,), {"__customslots__": {B: 2}})
            self.assertTrue(made.seen)
            self.assertEqual(table(made()), [(A, 1), (B, 2)])

    def check_freed(self, meta, wanted):
        """Checks that each class is freed once and that no reference to the metaclass leaks."""
        meta("Warm", (Base,), {})
        gc.collect()
        before, references = c.freed(), sys.getrefcount(meta)
        gone = []
        for _ in range(100):
            made = meta("X", (Base,), {"__customslots__": {B: 2}})
            self.assertEqual(table(made()), [(A, 1), (B, 2)])
            gone.append(weakref.ref(made))
            gone.append(weakref.ref(types.new_class("Y", (made,))))
            del made
        gc.collect()
        self.assertEqual([each for each in gone if each() is not None], [])
        self.assertEqual([after - each for each, after in zip(before, c.freed())], wanted)
        self.assertLess(abs(sys.getrefcount(meta) - references), 10)

    @only_if(not CLASSES_LIVE_FOR_EVER)
    def test_deallocators_run(self):
        for metaclass, wanted in ((c.Counting, [200, 0]), (c.HeapCounting, [200, 0]),
                                  (c.OtherCounting, [0, 200]), (c.DerivedCounting, [200, 200]),
                                  (c.Plain, [0, 0])):
            class Derived(metaclass):
                pass

            for meta in (combined_metaclass(metaclass), combined_metaclass(metaclass, abc.ABCMeta),
                         combined_metaclass(PythonMeta, Derived),
                         combined_metaclass(combined_metaclass(metaclass), PythonMeta),
                         type("FromPython", (combined_metaclass(metaclass),), {})):
                with self.subTest(metaclass=metaclass.__name__, meta=meta.__name__):
                    self.check_freed(meta, wanted)

    @only_if(not CLASSES_LIVE_FOR_EVER)
    def test_bases_assigned_later(self):
        meta = combined_metaclass(c.Counting)
        meta.__bases__ = (combined_metaclass(),)
        self.check_freed(meta, [0, 0])
