# Tests our metaclass combined with others.
import abc
import enum
import gc
import itertools
import sys
import types
import typing
import unittest
import weakref

from at_once import at_once
from collected import only_if
from slot_tools import Metaclass, combined, make, table

import _extensibletype  # slot_tools creates this module

A, B = 0x01000101, 0x01000201
Base = make({A: 1})
combined_metaclass = _extensibletype.combined_metaclass
# Free-threaded CPython 3.13 keeps all classes alive after a second thread has run.
CLASSES_LIVE_FOR_EVER = not getattr(sys, "_is_gil_enabled", lambda: True)()


class Cached(unittest.TestCase):
    def test_the_same_set_is_the_same_metaclass(self):
        class Meta(type):
            pass

        one = combined_metaclass(abc.ABCMeta, Meta)
        for again in ((Meta, abc.ABCMeta), (abc.ABCMeta, Meta, Metaclass), (Meta, type, abc.ABCMeta),
                      (abc.ABCMeta, Meta, Meta), (one,), (one, Meta), (Metaclass, one)):
            self.assertIs(combined_metaclass(*again), one)
            self.assertIs(combined(*again), one)
        self.assertTrue(issubclass(one, Metaclass))
        self.assertTrue(issubclass(one, abc.ABCMeta))
        self.assertTrue(issubclass(one, Meta))

    def test_nothing_to_combine(self):
        for nothing in ((), (type,), (Metaclass,), (Metaclass, type)):
            self.assertIs(combined_metaclass(*nothing), Metaclass)
        class Derived(Metaclass):
            pass

        self.assertIs(combined_metaclass(Derived), Derived)

    def test_the_order_of_the_first_request_does_not_matter(self):
        def pair():
            class First(type):
                pass

            class Second(type):
                pass

            return First, Second

        first, second = pair()
        one = combined_metaclass(first, second)
        first, second = pair()
        other = combined_metaclass(second, first)
        self.assertEqual([c.__name__ for c in one.__mro__], [c.__name__ for c in other.__mro__])

    def test_metaclasses_of_one_name(self):
        def orders(first_asked):
            left, right = (type("Meta", (type,), {}) for _ in range(2))
            asked = (left, right) if first_asked == "left" else (right, left)
            one = combined_metaclass(*asked)
            self.assertIs(combined_metaclass(*reversed(asked)), one)
            return (one.__mro__.index(left) < one.__mro__.index(right)) == (id(left) < id(right))

        self.assertEqual({orders(first) for first in ("left", "right") * 5}, {True})

    def test_combined_ones_can_be_combined(self):
        """The result does not depend on the order or the number of steps."""
        metas = [type(name, (type,), {}) for name in ("Aa", "Mm", "Zz")]
        made = {combined_metaclass(*metas)}
        for some in itertools.permutations(metas):
            in_steps = combined_metaclass(combined_metaclass(*some[:2]), some[2])
            one_by_one = combined_metaclass(some[0], combined_metaclass(some[1]), some[2])
            made |= {in_steps, one_by_one, combined_metaclass(in_steps, one_by_one)}
        self.assertGreater(len(made), 4)
        for left, right in itertools.combinations(made, 2):
            both = combined_metaclass(left, right)
            self.assertTrue(issubclass(both, left) and issubclass(both, right))
            self.assertIs(combined_metaclass(right, left), both)
            order = [both.__mro__.index(meta) for meta in metas + [Metaclass]]
            self.assertEqual(order, sorted(order))

    def test_classes_of_combined_metaclasses_meet(self):
        class Abstract(Base, abc.ABC, metaclass=combined_metaclass(abc.ABCMeta)):
            pass

        class Zz(type):
            pass

        one_step = combined_metaclass(Zz, abc.ABCMeta)
        two_steps = combined_metaclass(Zz, type(Abstract))

        class Left(Base, metaclass=one_step):
            pass

        class Right(Abstract, metaclass=two_steps):
            __customslots__ = {B: 2}

        class Both(Left, Right, metaclass=combined_metaclass(one_step, two_steps)):
            pass

        self.assertEqual(sorted(table(object.__new__(Both))), [(A, 1), (B, 2)])

        class Derived(type(Abstract)):
            pass

        meta = combined_metaclass(Derived, two_steps, one_step)
        self.assertTrue(issubclass(meta, Derived) and issubclass(meta, one_step))

    def test_name_and_module(self):
        one = combined_metaclass(abc.ABCMeta)
        self.assertEqual(one.__module__, "_extensibletype")
        self.assertEqual(one.__name__, "ABCMeta_extensibletype_v2")

    @only_if(not CLASSES_LIVE_FOR_EVER)
    def test_unused_ones_go(self):
        class Meta(type):
            pass

        gone = weakref.ref(combined_metaclass(Meta))
        gc.collect()
        self.assertIsNone(gone())
        again = combined_metaclass(Meta)
        self.assertIs(combined_metaclass(Meta), again)
        meta = weakref.ref(Meta)
        del Meta, again
        gc.collect()
        self.assertIsNone(meta())

    def test_addresses_that_are_used_again(self):
        for _ in range(300):
            Meta = type("Meta", (type,), {})
            one = combined_metaclass(Meta)
            self.assertIn(Meta, one.__mro__)
            del Meta, one
            gc.collect(0)

    def test_from_many_threads(self):
        class Meta(type):
            pass

        self.assertEqual(len(set(at_once(combined_metaclass, [(Meta, abc.ABCMeta)] * 8))), 1)


class Used(unittest.TestCase):
    def test_abstract_classes(self):
        class Abstract(Base, abc.ABC, metaclass=combined_metaclass(abc.ABCMeta)):
            __customslots__ = {B: 2}

            @abc.abstractmethod
            def method(self):
                pass

        class Concrete(Abstract):
            def method(self):
                return 5

        with self.assertRaisesRegex(TypeError, "abstract"):
            Abstract()
        self.assertEqual(table(Concrete()), [(A, 1), (B, 2)])
        self.assertEqual(Concrete().method(), 5)
        Abstract.register(int)
        self.assertTrue(issubclass(int, Abstract))

    def test_enumerations(self):
        class Colour(Base, enum.Enum, metaclass=combined_metaclass(enum.EnumMeta)):
            __customslots__ = {B: 2}
            RED = 1
            BLUE = 2

        self.assertEqual([c.name for c in Colour], ["RED", "BLUE"])
        self.assertIs(Colour(2), Colour.BLUE)
        self.assertEqual(table(Colour.RED), [(A, 1), (B, 2)])
        class Mixed(Base, enum.Enum, metaclass=combined_metaclass(enum.EnumMeta)):
            pass

        self.assertEqual(table(Mixed("Made", "X Y").X), [(A, 1)])

    def test_protocols(self):
        meta = combined_metaclass(type(typing.Protocol))

        @typing.runtime_checkable
        class HasF(typing.Protocol):
            def f(self):
                pass

        class Extensible(Base, HasF, metaclass=meta):
            def f(self):
                return 5

        T = typing.TypeVar("T")

        class Generic(Base, typing.Generic[T], metaclass=meta):
            pass

        self.assertIsInstance(Extensible(), HasF)
        self.assertEqual(table(Extensible()), [(A, 1)])
        self.assertEqual(table(Generic[int]()), [(A, 1)])

    def test_both_at_once(self):
        class Both(Base, enum.Enum, metaclass=combined_metaclass(abc.ABCMeta, enum.EnumMeta)):
            X = 1

        self.assertEqual(table(Both.X), [(A, 1)])

    def test_arguments_reach_every_metaclass(self):
        seen = []

        class Meta(type):
            @classmethod
            def __prepare__(mcs, name, bases, **kwargs):
                seen.append(("prepare", kwargs))
                return {}

            def __new__(mcs, name, bases, ns, **kwargs):
                seen.append(("new", kwargs))
                return super().__new__(mcs, name, bases, ns)

            def __init__(cls, name, bases, ns, **kwargs):
                seen.append(("init", kwargs))
                super().__init__(name, bases, ns)

            def __call__(cls, *args):
                seen.append(("call", args))
                return super().__call__()

        class X(Base, metaclass=combined_metaclass(Meta), a=1):
            __customslots__ = {B: 2}

        x = X(7)
        self.assertEqual(seen, [("prepare", {"a": 1}), ("new", {"a": 1}), ("init", {"a": 1}),
                                ("call", (7,))])
        self.assertEqual(table(x), [(A, 1), (B, 2)])

    def test_faults_are_reported_whatever_the_other_init_does(self):
        class Forgets(type):
            def __init__(cls, *args, **kwargs):
                pass

        with self.assertRaisesRegex(TypeError, "__customslots__"):
            class X(Base, metaclass=combined_metaclass(Forgets)):
                __customslots__ = 5

    def test_exceptions_of_the_other_init_pass(self):
        class Raises(type):
            def __init__(cls, *args, **kwargs):
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            combined_metaclass(Raises)("X", (Base,), {})

    def test_derived_from_a_combined_one(self):
        class Derived(combined_metaclass(abc.ABCMeta)):
            def __init__(cls, *args):
                super().__init__(*args)
                cls.seen = table(object.__new__(cls))

        class X(Base, metaclass=Derived):
            pass

        self.assertEqual(X.seen, [(A, 1)])
        class Other(type):
            pass

        self.assertIn(Derived, combined_metaclass(Derived, Other).__mro__)

    @only_if(not CLASSES_LIVE_FOR_EVER)
    def test_many_classes_are_freed(self):
        meta = combined_metaclass(abc.ABCMeta)
        gone = [weakref.ref(types.new_class("X", (Base, abc.ABC), {"metaclass": meta}))
                for _ in range(100)]
        gc.collect()
        self.assertEqual([r for r in gone if r() is not None], [])


    def test_one_that_dies_while_it_is_looked_up(self):
        class Meta(type):
            pass

        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        self.addCleanup(gc.enable)
        for more in range(-5, 40):  # a collection starts at each allocation in turn
            gc.disable()
            gc.collect()
            combined_metaclass(Meta)
            gc.set_threshold(max(1, gc.get_count()[0] + more), 1000, 1000)
            gc.enable()
            self.assertTrue(issubclass(combined_metaclass(Meta), Meta), more)


class Refused(unittest.TestCase):
    def test_what_is_no_metaclass(self):
        for wrong in (5, None, int, object, abc.ABC, "abc"):
            with self.assertRaisesRegex(TypeError, "is not a metaclass"):
                combined_metaclass(abc.ABCMeta, wrong)

    def test_what_is_no_metaclass_is_not_asked_for_its_repr(self):
        def boom(self, *unused):
            raise ValueError("no")

        meta = type("Meta", (type,), {"__repr__": boom, "__str__": boom, "__name__": property(boom)})
        for wrong in (meta("Wrong", (), {}), type("Wrong", (), {"__repr__": boom})()):
            with self.assertRaisesRegex(TypeError, "'Wrong'.* is not a metaclass"):
                combined_metaclass(abc.ABCMeta, wrong)

    def test_metaclasses_that_cannot_be_combined(self):
        with self.assertRaises(TypeError):
            class Meta(type):
                __slots__ = ()  # adds no fields

            class Final(Meta):
                def __init_subclass__(cls):
                    raise TypeError("no more")

            combined_metaclass(Final)

    def test_a_metaclass_of_a_metaclass_that_makes_something_else(self):
        class Unrelated(type):
            pass

        for result in (object(), int, Unrelated, Metaclass):
            class MetaMeta(type):
                def __new__(mcs, *args, armed=False):
                    return result if MetaMeta.armed else type.__new__(mcs, *args)

            MetaMeta.armed = False

            class Meta(type, metaclass=MetaMeta):
                pass

            MetaMeta.armed = True
            with self.assertRaisesRegex(TypeError, "instead of a combined one"):
                combined_metaclass(Meta)

    def test_bases_assigned_later(self):
        def meta():
            return type("Meta", (type,), {})

        first, second = meta(), meta()
        one = combined_metaclass(first)
        one.__bases__ = (second, Metaclass)
        other = combined_metaclass(first)
        self.assertIn(first, other.__mro__)
        self.assertIsNot(other, one)

    def test_keywords(self):
        with self.assertRaises(TypeError):
            combined_metaclass(metaclass=abc.ABCMeta)
