# Extensible types as Python code meets them: they behave like other classes, and whatever one does
# to derive from them keeps the slots.
import abc
import copy
import dataclasses
import enum
import functools
import gc
import inspect
import pickle
import sys
import typing
import unittest
import weakref

from collected import only_if
from extensible_types import Metaclass, make, slots

Base = make({1: 11, 2: 22})
Other = make({2: 222, 3: 333})
T = typing.TypeVar("T")


class Picklable(Base):
    def __init__(self, x=0):
        self.x = x


class Subclassing(unittest.TestCase):
    def check(self, cls, expected={1: 11, 2: 22}):
        self.assertEqual(slots(cls()), expected)
        self.assertIsInstance(type(cls), type)
        self.assertTrue(issubclass(type(cls), Metaclass))

    def test_class_statement(self):
        class C(Base):
            """Doc."""
            attribute = 5

            def method(self):
                return super().__hash__() is not None

        self.check(C)
        self.assertIs(type(C), Metaclass)
        self.assertEqual((C.__doc__, C.attribute, C().method()), ("Doc.", 5, True))

    def test_keywords_reach_init_subclass(self):
        class P(Base):
            def __init_subclass__(cls, flavour, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.flavour, cls.seen = flavour, slots(cls())

        class C(P, flavour="salt"):
            pass

        self.assertEqual((C.flavour, C.seen), ("salt", {1: 11, 2: 22}))
        self.check(C)

    def test_set_name_sees_the_slots(self):
        class Descriptor:
            def __set_name__(self, owner, name):
                self.seen = slots(object.__new__(owner))

        class C(Base):
            d = Descriptor()

        self.assertEqual(C.__dict__["d"].seen, {1: 11, 2: 22})

    def test_metaclass_conflict_has_its_usual_message(self):
        with self.assertRaisesRegex(TypeError, "metaclass conflict"):
            class C(Base, abc.ABC):
                pass

    def test_combined_with_abc(self):
        class Meta(abc.ABCMeta, Metaclass):
            pass

        class Abstract(Base, metaclass=Meta):
            @abc.abstractmethod
            def f(self):
                pass

        class C(Abstract):
            def f(self):
                return 1

        self.assertRaises(TypeError, Abstract)
        Abstract.register(int)
        self.assertIsInstance(5, Abstract)
        self.assertIsNone(slots(5))
        self.check(C)

    def test_combined_with_enum(self):
        class Meta(enum.EnumMeta, Metaclass):
            pass

        class Colour(Base, enum.Enum, metaclass=Meta):
            RED = 1
            BLUE = 2

        self.assertEqual(slots(Colour.RED), {1: 11, 2: 22})
        self.assertEqual([c.value for c in Colour], [1, 2])

    def test_protocol(self):
        class Meta(type(typing.Protocol), Metaclass):
            pass

        class P(typing.Protocol):
            def f(self):
                return 5

        class C(Base, P, metaclass=Meta):
            pass

        self.check(C)
        self.assertEqual(C().f(), 5)

    def test_generic(self):
        class G(typing.Generic[T], Base):
            pass

        class C(G[int], Other):
            pass

        self.check(G)
        self.assertEqual(slots(G[int]()), {1: 11, 2: 22})
        self.check(C, {1: 11, 2: 22, 3: 333})

    def test_dataclass(self):
        @dataclasses.dataclass
        class C(Base):
            x: int = 5

        self.check(C)
        self.assertEqual(C(7), C(7))

    @only_if(sys.version_info >= (3, 10))  # with which slots=True came
    def test_dataclass_with_slots_is_made_twice(self):
        @dataclasses.dataclass(slots=True)
        class C(Base):
            x: int = 5

        self.check(C)

    def test_three_argument_type_calls(self):
        self.check(type("C", (Base,), {}))
        self.check(Metaclass("C", (Base,), {}))
        self.check(type(Base)("C", (Base,), {"__slots__": ("a",)}))
        self.check(functools.reduce(lambda c, i: type("C%d" % i, (c,), {}), range(20), Base))
        self.check(Metaclass("C", (object,), {}), {})
        self.check(type.__new__(Metaclass, "C", (Base,), {}))

    def test_new_class_with_a_namespace(self):
        class Meta(Metaclass):
            @classmethod
            def __prepare__(mcs, name, bases):
                return {"prepared": True}

            def __new__(mcs, name, bases, namespace, **kwargs):
                cls = super().__new__(mcs, name, bases, namespace)
                cls.from_new = slots(object.__new__(cls))
                return cls

            def __call__(cls, *args):
                return super().__call__(*args)

        class C(Base, metaclass=Meta):
            pass

        self.check(C)
        self.assertTrue(C.prepared)
        self.assertEqual(C.from_new, {1: 11, 2: 22})

    def test_two_metaclasses_of_ours(self):
        class M1(Metaclass):
            pass

        class M2(Metaclass):
            pass

        class Both(M1, M2):
            pass

        class A(Base, metaclass=M1):
            pass

        class B(Other, metaclass=M2):
            pass

        class C(A, B, metaclass=Both):
            pass

        with self.assertRaisesRegex(TypeError, "metaclass conflict"):
            type("D", (A, B), {})
        self.check(C, {1: 11, 2: 22, 3: 333})

    def test_metaclass_assigned_later(self):
        class M1(Metaclass):
            pass

        class C(Base, metaclass=M1):
            pass

        class M2(Metaclass):
            pass

        C.__class__ = M2
        self.check(C)
        with self.assertRaises(TypeError):
            C.__class__ = type

    def test_multiple_inheritance_with_builtins(self):
        class D(dict, Base):
            pass

        class E(Base, Exception):
            pass

        self.check(D)
        self.check(E)
        with self.assertRaises(E):
            raise E()


class LikeOtherClasses(unittest.TestCase):
    def test_copy_and_pickle(self):
        for clone in (copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))):
            made = clone(Picklable(7))
            self.assertEqual((type(made), made.x), (Picklable, 7))
            self.assertEqual(slots(made), {1: 11, 2: 22})

    def test_singledispatch(self):
        @functools.singledispatch
        def f(x):
            return "other"

        f.register(Base, lambda x: "base")
        self.assertEqual((f(Picklable()), f(5)), ("base", "other"))

    def test_introspection(self):
        self.assertIn("slot_tools.Made", repr(Base))
        self.assertEqual(inspect.getmro(Picklable), (Picklable, Base, object))
        self.assertIn(Picklable, Base.__subclasses__())
        self.assertIn("__dict__", dir(Picklable))
        self.assertIsInstance(Metaclass.__basicsize__, int)
        self.assertEqual(repr(Metaclass), "<class '_extensibletype.extensibletype_v2'>")
        self.assertGreater(sys.getsizeof(Picklable), 0)

    def test_weak_references(self):
        class C(Base):
            pass

        dead = weakref.ref(C), weakref.ref(C())
        del C
        gc.collect()
        self.assertEqual([ref() for ref in dead], [None, None])

    @only_if(sys.version_info >= (3, 10))  # with which match came
    def test_match_is_as_for_other_classes(self):
        # SEP 200's flag bit would have made the first position match the object itself.
        space = {"C": Picklable}
        with self.assertRaisesRegex(TypeError, "positional sub-pattern"):
            exec("match C():\n  case C(x): pass", space)
        exec("match C(3):\n  case C(x=y): pass", space)
        self.assertEqual(space["y"], 3)

    @only_if(sys.version_info >= (3, 10))  # with which immutable types came
    def test_metaclass_is_immutable(self):
        for change in (lambda: setattr(Metaclass, "x", 1), lambda: delattr(Metaclass, "__init__"),
                       lambda: setattr(Metaclass, "__init__", None)):
            self.assertRaises(TypeError, change)

    def test_refusals(self):
        self.assertRaises(TypeError, make, {}, 5)
        self.assertRaises(TypeError, make, {}, (Base, bool))
        self.assertRaises(TypeError, make, {}, (int, str))
        self.assertRaises(TypeError, Metaclass)
        self.assertRaises(TypeError, Metaclass, "C", (Base, Base), {})
        gc.collect()
        self.assertEqual(slots(Base()), {1: 11, 2: 22})

    def test_the_interface_module(self):
        module = sys.modules["_extensibletype"]
        self.assertIs(module.extensibletype_v2, Metaclass)
        self.assertIn("typedcall_v2", repr(module.typedcall_v2))
