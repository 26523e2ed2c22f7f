"""Tests the use of types that core/types/type_from_metaclass.h makes."""

import gc
import inspect
import pickle
import pydoc
import sys
import unittest
import warnings
import weakref

import fromspec_module as fs
from specs import GOOD, DerivedMetaclass, make, plain


class Behaviour(unittest.TestCase):
    def test_members_getset_methods(self):
        cls = make("members")
        one = cls()
        self.assertEqual((one.number, one.real, one.answer), (0, 0.0, 42))
        one.number = 5
        self.assertEqual(one.number, 5)
        self.assertRaises(AttributeError, setattr, one, "real", 1.0)
        self.assertRaises(AttributeError, getattr, one, "object")
        self.assertEqual(cls().add_one(4), 5)
        self.assertIs(cls.cls(), cls)
        self.assertIsNone(cls.static())
        self.assertIs(cls().defining_class(), cls)
        sub = type(cls)("Sub", (cls,), {})
        self.assertIs(sub().defining_class(), cls)

    def test_object_members_are_traversed_and_cleared(self):
        class Collected:  # CPython traverses the members if the base is made in Python
            __slots__ = ()

        class Sub(make("members", fs.Metaclass, Collected)):
            pass

        one, token = Sub(), Sub()
        one.object = one  # a cycle for the garbage collector
        one.cycle = token
        token.object = Sub()  # released by the deallocator
        dead = weakref.ref(one), weakref.ref(token), weakref.ref(token.object)
        del one, token
        gc.collect()
        self.assertEqual([ref() for ref in dead], [None] * 3)

    def test_weak_references_dict_and_dealloc(self):
        cls = make("weakdict")
        one = cls()
        one.x = one
        dead = weakref.ref(one)
        fs.take_dealloc_calls()
        del one
        gc.collect()
        self.assertIsNone(dead())
        self.assertEqual(fs.take_dealloc_calls(), 1)

    def test_protocols(self):
        one = make("number")()
        self.assertEqual((one + 1, 1 + one, len(one), list(one), repr(one)),
                         (7, 7, 7, list(range(7)), "<seven>"))
        self.assertEqual(one, one)
        self.assertRaises(TypeError, hash, one)
        self.assertEqual(make("vectorcall")()(1, 2, x=3), 2)
        other = make("protocol")()
        self.assertEqual((list(other), bytes(memoryview(other)), other["x"], hash(other)),
                         ([], b"abc", 7, 7))

    def test_inherited_slots_are_not_the_types_own(self):
        class Other:
            def __repr__(self):
                return "Other's"

            __str__ = __hash__ = __repr__

            def __eq__(self, other):
                return "equal"

            def __getattribute__(self, name):
                return "got " + name

        for metaclass in (fs.Metaclass, type):
            ours = make("empty", metaclass)

            class D(ours, Other):
                pass

            self.assertEqual((repr(D()), str(D()), D() == 1, D().x),
                             ("Other's", "Other's", "equal", "got x"))
            self.assertNotIn("__repr__", ours.__dict__)

    def test_subclassing_in_python(self):
        for kind in GOOD:
            ours = make(kind)
            with self.subTest(kind=kind):
                if kind == "final":
                    self.assertRaises(TypeError, fs.Metaclass, "Sub", (ours,), {})
                    continue

                class Sub(ours):
                    def __repr__(self):
                        return "sub"

                class Sub2(Sub, metaclass=DerivedMetaclass):
                    pass

                self.assertIs(type(Sub), fs.Metaclass)
                if kind == "abstract":
                    self.assertRaises(TypeError, ours)
                else:
                    self.assertEqual(repr(Sub2()), "sub")
                self.assertEqual(fs.extra(Sub), bytes(48))
                self.assertEqual(ours.__subclasses__(), [Sub])

    def test_metaclass_data(self):
        for metaclass in (fs.Metaclass, DerivedMetaclass):
            for kind in GOOD:
                ours = make(kind, metaclass)
                self.assertEqual(fs.extra(ours), bytes(48))
                names = [m for m in dir(ours)]
                fs.fill_extra(ours)
                self.assertEqual(names, dir(ours))
                if kind == "members":
                    self.assertEqual(ours().answer, 42)
                    self.assertEqual(ours().number, 0)

    def test_init_and_init_subclass_are_not_called(self):
        calls = []

        class Base(metaclass=DerivedMetaclass):
            def __init_subclass__(cls, **kwargs):
                calls.append(cls)

        DerivedMetaclass.created = 0
        make("empty", DerivedMetaclass, Base)
        self.assertEqual((calls, DerivedMetaclass.created), ([], 0))

    def test_metaclass_is_the_most_derived(self):
        class Base(metaclass=DerivedMetaclass):
            pass

        self.assertIs(type(make("empty", fs.Metaclass, (object, Base)[1:])), DerivedMetaclass)
        self.assertIs(type(make("empty", None, Base)), DerivedMetaclass)
        self.assertIs(type(make("empty", None)), type)
        self.assertIs(type(make("empty", fs.NoNew)), fs.NoNew)  # tp_new is NULL

    def test_metaclass_mro(self):
        seen = []

        class Reordering(fs.Metaclass):
            def mro(cls):
                seen.append(getattr(cls, "__module__", None))
                return [cls, int, object]

        ours = make("empty", Reordering, int)
        self.assertEqual(ours.__mro__, (ours, int, object))
        self.assertEqual(ours.__module__, "fromspec")
        self.assertEqual(len(seen), 1)

        class Failing(fs.Metaclass):
            def mro(cls):
                raise KeyError("mro")

        self.assertRaises(KeyError, make, "members", Failing)
        gc.collect()

    def test_pickle_and_help(self):
        for name in ("members", "number"):
            ours = make(name)
            setattr(fs, name, ours)
            module, sys.modules["fromspec"] = sys.modules.get("fromspec"), fs
            try:
                self.assertIs(pickle.loads(pickle.dumps(ours)), ours)
            finally:
                delattr(fs, name)
                del sys.modules["fromspec"]
        self.assertIn("Has members.", pydoc.render_doc(make("members")))
        self.assertEqual(pydoc.plain(pydoc.render_doc(make("number"))),
                         pydoc.plain(pydoc.render_doc(plain("number"))))

    def test_doc_and_signature(self):
        ours = make("members")
        self.assertEqual(ours.__doc__, "Has members.")
        # Types that CPython makes from specs have a text signature only from 3.11 on.
        self.assertEqual(ours.__text_signature__, "(number=0)")
        self.assertEqual(str(inspect.signature(ours)), "(number=0)")
        self.assertIsNone(make("dotted").__doc__)
        self.assertEqual(make("dotted").__module__, "fromspec.inner")

    def test_warning_without_module(self):
        with self.assertWarnsRegex(DeprecationWarning, "has no __module__"):
            fs.make("undotted", fs.Metaclass)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertRaises(DeprecationWarning, fs.make, "undotted", fs.Metaclass)
