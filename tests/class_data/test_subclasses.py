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
        class HeavyOunce(self.Ounce):
            pass

        self.assertEqual(HeavyOunce().text(), "1 oz")
        self.assertEqual(HeavyOunce(5).text(), "5 oz")
        self.assertIs(type(HeavyOunce), type(self.Ounce))

    def test_a_hundred_generations(self):
        cls = self.Kilogram
        for _ in range(100):
            cls = type(cls)("Next", (cls,), {})
        self.assertEqual(cls().text(), "1 kg")

    def test_plain_classes_first(self):
        class Second(Plain, self.Ounce):
            pass

        class Fourth(type("A", (), {}), type("B", (), {}), Plain, self.Kilogram):
            pass

        self.assertEqual(Second().text(), "1 oz")
        self.assertEqual(Fourth().text(), "1 kg")

    def test_of_two_units_the_first_in_the_mro_wins(self):
        class OunceFirst(self.Ounce, self.Kilogram):
            pass

        class KilogramFirst(self.Kilogram, self.Ounce):
            pass

        class Below(Plain, KilogramFirst):
            pass

        class Heavy(self.Ounce):
            pass

        class Diamond(Heavy, self.Kilogram):
            pass

        self.assertEqual(OunceFirst().text(), "1 oz")
        self.assertEqual(KilogramFirst().text(), "1 kg")
        self.assertEqual(Below().text(), "1 kg")
        self.assertEqual(Diamond().text(), "1 oz")

    def test_generic_protocol_and_abc(self):
        T = typing.TypeVar("T")

        class Box(typing.Generic[T], self.Ounce):
            pass

        class Weighs(typing.Protocol):
            def text(self) -> str: ...

        import _extensibletype

        both = _extensibletype.combined_metaclass(abc.ABCMeta)

        class Abstract(self.Kilogram, abc.ABC, metaclass=both):
            @abc.abstractmethod
            def more(self): ...

        class Concrete(Abstract):
            def more(self): return self.text()

        self.assertEqual(Box().text(), "1 oz")
        self.assertEqual(Box[int](3).text(), "3 oz")
        self.assertEqual(Concrete().more(), "1 kg")
        with self.assertRaises(TypeError):
            Abstract()
        with self.assertRaisesRegex(TypeError, "metaclass conflict"):
            type("Conflict", (self.Ounce, Weighs), {})

    def test_dataclass(self):
        @dataclasses.dataclass
        class Card(self.Ounce):
            colour: str
            size: int = 3

        # The __init__ of a dataclass does not call Ounce.__init__.
        self.assertEqual(Card("red").text(), "1 oz")
        self.assertEqual(Card("red"), Card("red", 3))

    def test_slots_and_a_dict_of_their_own(self):
        class Slotted(self.Ounce):
            __slots__ = ("extra",)

        class Weak(self.Kilogram):
            pass

        slotted, weak = Slotted(), Weak()
        slotted.extra = weak.anything = 5
        self.assertEqual((slotted.text(), slotted.extra), ("1 oz", 5))
        self.assertEqual((weak.text(), weak.anything), ("1 kg", 5))

    def test_made_past_the_metaclass(self):
        meta = type(self.Ounce)
        raw = type.__new__(meta, "X", (self.Ounce,), {})
        self.assertEqual(raw().text(), "1 oz")
        self.assertEqual(type("X", (self.Ounce,), {})().text(), "1 oz")

        class Forgets(meta):
            def __init__(cls, name, bases, space):
                pass

        forgotten = Forgets("X", (self.Kilogram,), {})
        self.assertEqual(forgotten().text(), "1 kg")

    def test_in_init_subclass(self):
        class Registering(self.Ounce):
            def __init_subclass__(cls, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.seen = cls(7).text()

        class Registered(Registering):
            pass

        self.assertEqual(Registered.seen, "7 oz")
        self.assertEqual(Registered().text(), "1 oz")

    def test_bases_assignment_keeps_the_unit_of_the_creation(self):
        def below(cls):
            return type(cls)("Below", (cls,), {"__slots__": ()})

        made = below(below(self.Ounce))
        made.__bases__ = (below(self.Kilogram),)
        self.assertIn(self.Kilogram, made.__mro__)
        self.assertEqual(made().text(), "1 oz")

    def test_super_and_overriding(self):
        class Loud(Plain, self.Ounce):
            def text(self):
                return super().text().upper()

        self.assertEqual(Loud().text(), "1 OZ")

    def test_mixed_with_a_builtin(self):
        for other in (int, list, collections.OrderedDict):
            with self.assertRaisesRegex(TypeError, "lay-out conflict"):
                type("Both", (self.Ounce, other), {})

    def test_a_subclass_that_refers_to_itself_goes(self):
        for space in ({}, {"__slots__": ()}):
            loop = type(self.Ounce)("Loop", (self.Ounce,), dict(space))
            loop.default = loop()
            gone = weakref.ref(loop)
            del loop
            gc.collect()
            self.assertIsNone(gone(), space)
        self.assertEqual(self.Ounce().text(), "1 oz")


class AcrossModules(InCython):
    def test_the_slot_is_the_same_in_both_modules(self):
        import units_cpp

        with self.assertRaisesRegex(TypeError, "lay-out conflict"):
            type("Both", (self.Ounce, units_cpp.Ounce), {})
        self.assertIs(type(self.Ounce), type(units_cpp.Ounce))


class Cpp(Cases, InCpp):
    pass


class Cython(Cases, InCython):
    pass
