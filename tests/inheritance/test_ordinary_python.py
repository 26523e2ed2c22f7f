# Tests slots of classes that the standard library makes or changes.
import abc
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import enum
import functools
import pickle
import sys
import threading
import typing
import unittest
import weakref

from collected import only_if
from slot_ids import bare, check_answers, slots
from slot_tools import Metaclass, make

Base = make(slots(None, (1, 11), (2, 22)))
BASE = slots(None, (1, 11), (2, 22))
T = typing.TypeVar("T")
since_310 = only_if(sys.version_info >= (3, 10))  # for slots=True


class ABCMeta(abc.ABCMeta, Metaclass):
    pass


class EnumMeta(enum.EnumMeta, Metaclass):
    pass


@dataclasses.dataclass
class Point(Base):
    x: int
    y: int = 0


@functools.total_ordering
class Ordered(Base):
    def __init__(self, x=0):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    def __lt__(self, other):
        return self.x < other.x

    __hash__ = None


class Slotted(Base):
    __slots__ = ("x", "__weakref__")


class Pair(collections.namedtuple("Pair", "a b"), Base):
    __slots__ = ()


class Reduced(Base):
    def __reduce__(self):
        return Reduced, ()


class Colour(Base, enum.Enum, metaclass=EnumMeta):
    RED = 1
    BLUE = 2


class Dataclasses(unittest.TestCase):
    def check(self, cls, *arguments):
        check_answers(self, cls(*arguments), BASE)
        self.assertEqual(cls(*arguments), cls(*arguments))
        check_answers(self, type("Sub", (cls,), {})(*arguments), BASE)

    def test_plain_ordered_and_derived(self):
        self.check(Point, 1)
        self.check(dataclasses.dataclass(order=True)(type("C", (Point,), {})), 1, 2)
        changed = dataclasses.replace(Point(1, 2), x=5)
        self.assertEqual((changed.x, changed.y), (5, 2))
        check_answers(self, changed, BASE)

    def test_frozen(self):
        @dataclasses.dataclass(frozen=True)
        class C(Base):
            x: int = 5

        self.check(C)
        self.assertRaises(dataclasses.FrozenInstanceError, setattr, C(), "x", 1)
        self.assertEqual(hash(C(3)), hash(C(3)))

    @since_310
    def test_slots(self):
        for frozen in (False, True):
            @dataclasses.dataclass(slots=True, frozen=frozen)
            class C(Base):
                x: int = 5

            self.check(C)
            self.assertNotIn("__dict__", dir(C()))

    @since_310
    def test_slots_below_slots(self):
        @dataclasses.dataclass(slots=True)
        class C(Slotted):
            y: int = 5

        self.check(C)

    def test_made_at_run_time(self):
        cls = dataclasses.make_dataclass("C", [("x", int)], bases=(Base,))
        self.check(cls, 1)

    def test_generic(self):
        @dataclasses.dataclass
        class C(typing.Generic[T], Base):
            x: typing.Optional[T] = None

        self.check(C)
        check_answers(self, C[int](3), BASE)


class OtherClasses(unittest.TestCase):
    def test_total_ordering(self):
        self.assertTrue(Ordered(1) <= Ordered(1) < Ordered(2) > Ordered(0))
        check_answers(self, Ordered(), BASE)
        self.assertRaises(TypeError, hash, Ordered())

    def test_namedtuple_like(self):
        pair = Pair(1, 2)
        self.assertEqual((pair.a, pair.b, pair == (1, 2), pair._replace(a=3)[0]), (1, 2, True, 3))
        check_answers(self, pair, BASE)
        check_answers(self, pair._replace(a=3), BASE)

    def test_typing_namedtuple_takes_no_other_base(self):
        with self.assertRaises(TypeError):
            class C(typing.NamedTuple, Base):
                x: int
        check_answers(self, Base(), BASE)

    def test_abc(self):
        class Abstract(Base, metaclass=ABCMeta):
            @abc.abstractmethod
            def f(self):
                pass

            @classmethod
            def __subclasshook__(cls, other):
                return True if other is str else NotImplemented

        self.assertRaises(TypeError, Abstract)
        check_answers(self, type("C", (Abstract,), {"f": None})(), BASE)
        check_answers(self, type("C", (Abstract, collections.abc.Sized),
                                 {"f": None, "__len__": len})(), BASE)
        Abstract.register(int)
        for virtual in (5, "text"):
            self.assertIsInstance(virtual, Abstract)
            check_answers(self, virtual, None)

    def test_enum(self):
        check_answers(self, Colour.RED, BASE)
        self.assertEqual([c.value for c in Colour], [1, 2])
        self.assertIs(pickle.loads(pickle.dumps(Colour.BLUE)), Colour.BLUE)
        self.assertIs(Colour(2), Colour.BLUE)

    def test_exceptions_context_managers_and_threads(self):
        class E(Base, ValueError):
            pass

        class Managed(contextlib.ContextDecorator, Base):
            def __enter__(self):
                return self

            def __exit__(self, *exc):
                return True

        class Local(threading.local, Base):
            pass

        with Managed() as managed:
            raise E("x")
        for obj in (managed, E("x"), Local()):
            check_answers(self, obj, BASE)

    def test_cached_properties_and_single_dispatch(self):
        class C(Base):
            @functools.cached_property
            def answer(self):
                return 42

            @functools.singledispatchmethod
            def kind(self, x):
                return "other"

            @kind.register(Base)
            def _(self, x):
                return "extensible"

        obj = C()
        self.assertEqual((obj.answer, obj.answer, obj.kind(obj), obj.kind(5)),
                         (42, 42, "extensible", "other"))
        check_answers(self, obj, BASE)

    def test_weak_containers(self):
        cls = type("C", (Base,), {})
        kept = weakref.WeakKeyDictionary({cls: 1})
        self.assertEqual(len(weakref.WeakSet([cls(), cls])), 1)
        self.assertEqual(kept[cls], 1)


class Copies(unittest.TestCase):
    def test_copy_and_pickle(self):
        slotted = Slotted()
        slotted.x = 7
        ways = [copy.copy, copy.deepcopy]
        ways += [lambda o, p=p: pickle.loads(pickle.dumps(o, p))
                 for p in range(2, pickle.HIGHEST_PROTOCOL + 1)]
        for obj in (Point(3, 4), Ordered(5), slotted, Pair(1, 2), Reduced()):
            for way in ways:
                with self.subTest(type(obj).__name__):
                    clone = way(obj)
                    self.assertIs(type(clone), type(obj))
                    check_answers(self, clone, BASE)
        self.assertEqual(copy.deepcopy(Point(3, [4])).y, [4])
        self.assertEqual(pickle.loads(pickle.dumps(slotted, 2)).x, 7)

    def test_classes_are_pickled_by_name(self):
        for cls in (Point, Slotted, Colour):
            self.assertIs(pickle.loads(pickle.dumps(cls)), cls)
            self.assertIs(copy.deepcopy(cls), cls)

    def test_objects_without_init(self):
        check_answers(self, bare(Point), BASE)
