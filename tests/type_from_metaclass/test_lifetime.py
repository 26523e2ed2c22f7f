"""Tests the errors of core/types/type_from_metaclass.h, and that nothing leaks."""

import gc
import itertools
import sys
import sysconfig
import unittest
import warnings
import weakref

from collected import only_if
import fromspec_module as fs
import leaks
import processes
from specs import _testcapi, GOOD, UnrelatedMetaclass, MetaclassWithNew, make

# Without Py_DEBUG, the references of the module are not counted.
COUNTS_REFERENCES = fs.COUNTS_REFERENCES
EVERY_STAGE ="""
import gc, itertools
from specs import GOOD, make
collections = []
gc.callbacks.append(lambda phase, info: collections.append(phase))
kinds = itertools.cycle(GOOD)
gc.set_threshold(1, 1, 1)
for _ in range(100):
    make(next(kinds))
    gc.collect()
print(collections.count("stop"))
"""


class Refusals(unittest.TestCase):
    def check(self, error, text, *args):
        before = object.__subclasses__()
        with self.assertRaisesRegex(error, text):
            make(*args)
        gc.collect()
        self.assertEqual(object.__subclasses__(), before)

    def test_metaclass(self):
        class Base(metaclass=UnrelatedMetaclass):
            pass

        class BaseWithNew(metaclass=MetaclassWithNew):
            pass

        conflict, custom = "metaclass conflict", "custom tp_new"
        self.check(TypeError, conflict, "empty", fs.Metaclass, Base)
        self.check(TypeError, conflict, "empty", fs.Metaclass, (Base, object))
        self.check(TypeError, conflict, "empty", int)
        self.check(TypeError, custom, "empty", MetaclassWithNew)
        if sys.version_info < (3, 12) or sys.version_info >= (3, 14):
            self.check(TypeError, custom, "empty", None, BaseWithNew)

    def test_bases(self):
        self.check(TypeError, "not an acceptable base", "empty", fs.Metaclass, bool)
        self.check(TypeError, "not an acceptable base", "empty", fs.Metaclass, make("final"))
        self.check(TypeError, "not an acceptable base", "bad_bool_base")
        self.check(TypeError, "lay-out conflict", "empty", fs.Metaclass, (int, list))
        self.check(TypeError, "resolution", "empty", fs.Metaclass, (object, int))
        self.check(TypeError, "", "empty", fs.Metaclass, 5)
        self.check(TypeError, "", "empty", fs.Metaclass, (int, 5))
        if sys.version_info < (3, 15):  # from 3.15 on, a type is accepted
            self.check(SystemError, "not a tuple", "bad_not_a_tuple")

    def test_no_bases(self):
        for metaclass in (fs.Metaclass, type, None):
            self.check(TypeError, "at least one base", "empty", metaclass, ())
            self.check(TypeError, "at least one base", "bad_no_bases", metaclass)

    def test_spec(self):
        self.check(SystemError, "name", "unnamed")
        self.check(SystemError, "(?i)multiple Py_tp_doc", "bad_two_docs")
        self.check(SystemError, "(?i)multiple Py_tp_members", "bad_two_members")
        if sys.version_info < (3, 15):
            self.check(RuntimeError, "invalid slot", "bad_unknown")
            self.check(RuntimeError, "invalid slot", "bad_negative")
        else:
            self.check(SystemError, "unknown type slot", "bad_unknown")
            self.check(SystemError, "slot", "bad_negative")
        self.check(TypeError, "too small", "bad_small")
        self.check(TypeError, "out of bounds", "bad_offset")

    @only_if(sys.version_info < (3, 12))  # CPython supports this from 3.12 on
    def test_negative_basicsize(self):
        self.check(SystemError, "needs Python 3.12", "pep697")


class Lifetime(unittest.TestCase):
    def test_bases_list_nothing_but_the_type(self):
        class Base(metaclass=fs.Metaclass):
            pass

        gc.collect()
        gc.disable()
        try:
            for metaclass, bases in ((fs.Metaclass, Base), (type, list), (fs.Metaclass, list)):
                of = bases.__subclasses__()
                everything = len(gc.get_objects())
                ours = make("empty", metaclass, bases)
                self.assertEqual(set(bases.__subclasses__()) - set(of), {ours})
                self.assertEqual([o for o in gc.get_objects()[everything:]
                                  if isinstance(o, type) and o is not ours], [])
                self.assertRaises(TypeError, make, "bad_small", metaclass, bases)
                del ours, of
                gc.collect()
        finally:
            gc.enable()

    def assert_no_leak(self, function, times):
        # Caches keep a few references and blocks.
        leaks.check(function, times, warm_up=300, blocks=times // 10,
                    references=times // 10 if COUNTS_REFERENCES else None)

    def test_no_leak(self):
        kinds = itertools.cycle(GOOD)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assert_no_leak(lambda: fs.make(next(kinds), fs.Metaclass), 10000)

    def test_no_leak_of_instances_and_metaclasses(self):
        kinds = itertools.cycle(["members", "weakdict", "number"])
        self.assert_no_leak(lambda: make(next(kinds))(), 2000)

        def with_its_metaclass():
            class Meta(fs.Metaclass):
                pass
            make("members", Meta)()

        self.assert_no_leak(with_its_metaclass, 1000)

    def test_no_leak_of_refusals(self):
        cases = itertools.cycle(["bad_two_docs", "bad_two_members", "bad_unknown", "bad_small",
                                 "bad_bool_base", "bad_no_bases", "bad_offset", "unnamed"] +
                                ["bad_not_a_tuple"] * (sys.version_info < (3, 15)))
        metaclasses = itertools.cycle([fs.Metaclass, MetaclassWithNew, int])

        def refuse():
            self.assertRaises(Exception, make, next(cases), fs.Metaclass)
            self.assertRaises(TypeError, make, "members", next(metaclasses), (int, list))

        self.assert_no_leak(refuse, 1000)

    def test_type_is_freed_with_its_metaclass(self):
        class Meta(fs.Metaclass):
            pass

        ours = make("members", Meta)
        dead = weakref.ref(ours), weakref.ref(Meta)
        del ours, Meta
        gc.collect()
        gc.collect()  # each level needs a collection
        self.assertEqual([ref() for ref in dead], [None, None])

    def test_collector_sees_every_stage_and_does_not_crash(self):
        ended = processes.python(code=EVERY_STAGE)
        self.assertEqual(ended.err, "")
        # There were more collections than the explicit ones. Free-threaded builds only collect
        # garbage if memory has grown.
        has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
        self.assertGreater(int(ended.out), 200 if has_gil else 99)

    # From 3.12 on, CPython's own function is called, which crashes in 3.13.0.
    @only_if(hasattr(_testcapi, "set_nomemory") and sys.version_info < (3, 12))
    def test_every_failing_allocation(self):
        def attempt(kind, metaclass, base, first, last):
            _testcapi.set_nomemory(first, last)
            try:
                return fs.make(kind, metaclass, base)
            except MemoryError:
                return None
            finally:
                _testcapi.remove_mem_hooks()

        def every_allocation(kind, metaclass, only_one):
            # When memory runs out, a dying type stays in its base's list of subclasses. So each call
            # of this function uses a new base.
            base = type("Base", (), {"__slots__": ()})
            failures = 0
            for first in range(70):
                last = first + 1 if only_one else 0
                if attempt(kind, metaclass, base, first, last) is None:
                    failures += 1
                    gc.collect()
            return failures

        for kind in ("empty", "members", "weakdict"):
            for only_one in (True, False):
                with self.subTest(kind=kind, only_one=only_one):
                    for metaclass in (fs.Metaclass, type):
                        failures = every_allocation(kind, metaclass, only_one)
                        self.assertGreater(failures, 10)
                        self.assertLess(failures, 60)
                    # CPython leaks here if it calls mro() of another metaclass. 3.9 always leaks.
                    if sys.version_info < (3, 10):
                        continue
                    leaks.check(lambda: every_allocation(kind, type, only_one), 6, warm_up=6,
                                blocks=5, references=5 if COUNTS_REFERENCES else None)
