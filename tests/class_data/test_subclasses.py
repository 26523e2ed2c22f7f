"""Tests classes derived in Python from the classes of the example."""

import abc
import collections
import dataclasses
import gc
import typing
import weakref

from both_modules import InCpp, InCython


class Plain:
    pass


class Cases:
    def test_the_one_that_crashed(self):
        class FriendlyHello(self.Hello):
            pass

        self.assertEqual(FriendlyHello().greet(), "Hello World!")
        self.assertEqual(FriendlyHello("you").greet(), "Hello you!")
        self.assertIs(type(FriendlyHello), type(self.Hello))

    def test_a_hundred_generations(self):
        cls = self.GoodMorning
        for _ in range(100):
            cls = type(cls)("Next", (cls,), {})
        self.assertEqual(cls().greet(), "Good morning World!")

    def test_plain_classes_first(self):
        class Second(Plain, self.Hello):
            pass

        class Fourth(type("A", (), {}), type("B", (), {}), Plain, self.GoodMorning):
            pass

        self.assertEqual(Second().greet(), "Hello World!")
        self.assertEqual(Fourth().greet(), "Good morning World!")

    def test_of_two_greetings_the_first_in_the_mro_wins(self):
        class HelloFirst(self.Hello, self.GoodMorning):
            pass

        class MorningFirst(self.GoodMorning, self.Hello):
            pass

        class Below(Plain, MorningFirst):
            pass

        class Friendly(self.Hello):
            pass

        class Diamond(Friendly, self.GoodMorning):
            pass

        self.assertEqual(HelloFirst().greet(), "Hello World!")
        self.assertEqual(MorningFirst().greet(), "Good morning World!")
        self.assertEqual(Below().greet(), "Good morning World!")
        self.assertEqual(Diamond().greet(), "Hello World!")

    def test_generic_protocol_and_abc(self):
        T = typing.TypeVar("T")

        class Box(typing.Generic[T], self.Hello):
            pass

        class Greets(typing.Protocol):
            def greet(self) -> str: ...

        import _extensibletype

        both = _extensibletype.combined_metaclass(abc.ABCMeta)

        class Abstract(self.GoodMorning, abc.ABC, metaclass=both):
            @abc.abstractmethod
            def more(self): ...

        class Concrete(Abstract):
            def more(self): return self.greet()

        self.assertEqual(Box().greet(), "Hello World!")
        self.assertEqual(Box[int]("x").greet(), "Hello x!")
        self.assertEqual(Concrete().more(), "Good morning World!")
        with self.assertRaises(TypeError):
            Abstract()
        with self.assertRaisesRegex(TypeError, "metaclass conflict"):
            type("Conflict", (self.Hello, Greets), {})

    def test_dataclass(self):
        @dataclasses.dataclass
        class Card(self.Hello):
            colour: str
            size: int = 3

        # The __init__ of a dataclass does not call Hello.__init__.
        self.assertEqual(Card("red").greet(), "Hello World!")
        self.assertEqual(Card("red"), Card("red", 3))

    def test_slots_and_a_dict_of_their_own(self):
        class Slotted(self.Hello):
            __slots__ = ("extra",)

        class Weak(self.GoodMorning):
            pass

        slotted, weak = Slotted(), Weak()
        slotted.extra = weak.anything = 5
        self.assertEqual((slotted.greet(), slotted.extra), ("Hello World!", 5))
        self.assertEqual((weak.greet(), weak.anything), ("Good morning World!", 5))

    def test_made_past_the_metaclass(self):
        meta = type(self.Hello)
        raw = type.__new__(meta, "X", (self.Hello,), {})
        self.assertEqual(raw().greet(), "Hello World!")
        self.assertEqual(type("X", (self.Hello,), {})().greet(), "Hello World!")

        class Forgets(meta):
            def __init__(cls, name, bases, space):
                pass

        forgotten = Forgets("X", (self.GoodMorning,), {})
        self.assertEqual(forgotten().greet(), "Good morning World!")

    def test_in_init_subclass(self):
        class Registering(self.Hello):
            def __init_subclass__(cls, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.seen = cls("early").greet()

        class Registered(Registering):
            pass

        self.assertEqual(Registered.seen, "Hello early!")
        self.assertEqual(Registered().greet(), "Hello World!")

    def test_bases_assignment_keeps_the_greeting_of_the_creation(self):
        def below(cls):
            return type(cls)("Below", (cls,), {"__slots__": ()})

        made = below(below(self.Hello))
        made.__bases__ = (below(self.GoodMorning),)
        self.assertIn(self.GoodMorning, made.__mro__)
        self.assertEqual(made().greet(), "Hello World!")

    def test_super_and_overriding(self):
        class Loud(Plain, self.Hello):
            def greet(self):
                return super().greet().upper()

        self.assertEqual(Loud().greet(), "HELLO WORLD!")

    def test_mixed_with_a_builtin(self):
        for other in (int, list, collections.OrderedDict):
            with self.assertRaisesRegex(TypeError, "lay-out conflict"):
                type("Both", (self.Hello, other), {})

    def test_a_subclass_that_refers_to_itself_goes(self):
        for space in ({}, {"__slots__": ()}):
            loop = type(self.Hello)("Loop", (self.Hello,), dict(space))
            loop.default = loop()
            gone = weakref.ref(loop)
            del loop
            gc.collect()
            self.assertIsNone(gone(), space)
        self.assertEqual(self.Hello().greet(), "Hello World!")


class AcrossModules(InCython):
    def test_the_slot_is_the_same_in_both_modules(self):
        import greetings_cpp

        with self.assertRaisesRegex(TypeError, "lay-out conflict"):
            type("Both", (self.Hello, greetings_cpp.Hello), {})
        self.assertIs(type(self.Hello), type(greetings_cpp.Hello))


class Cpp(Cases, InCpp):
    pass


class Cython(Cases, InCython):
    pass
