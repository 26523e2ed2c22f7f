# Tests every way to derive a class from extensible classes. Each entry makes a class and lists its
# slots in order.
import functools
import gc
import sys
import types
import typing
import unittest
import weakref

from slot_ids import bare, check_answers, slots
from slot_tools import Metaclass, address, check, make

# Base and Other both have a slot with ID 2.
Base = make(slots(None, (1, 11), (2, 22)))
Other = make(slots((2, 222), (3, 333)))
Third = make(slots((3, 3333), None, (4, 4444)))
Empty = make([])
Override = make(slots((1, 1111)), Base)
AnotherOverride = make(slots((1, 9)), Base)
BASE = slots(None, (1, 11), (2, 22))
BASE_OTHER = slots(None, (1, 11), (2, 22), (3, 333))
OTHER_BASE = slots((2, 222), (3, 333), (1, 11))
OVERRIDE = slots(None, (1, 1111), (2, 22))
ANOTHER_OVERRIDE = slots(None, (1, 9), (2, 22))

T = typing.TypeVar("T")
U = typing.TypeVar("U")


class Plain:
    pass


class Slotless:
    __slots__ = ()


class Last:
    pass


class Entries:
    """An object with __mro_entries__ (PEP 560)."""

    def __init__(self, *bases):
        self.bases = bases

    def __mro_entries__(self, bases):
        return self.bases


class ProtocolMeta(type(typing.Protocol), Metaclass):
    pass


class Speaks(typing.Protocol):
    def speak(self):
        return "hello"


WAYS = []


def way(expected, since=(3, 9)):
    def enter(function):
        if sys.version_info >= since:
            WAYS.append((function.__name__, function, expected))
        return function
    return enter


def simple(name, expected, *bases, **namespace):
    way(expected)(lambda: types.new_class(name, bases, exec_body=lambda ns: ns.update(namespace)))
    WAYS[-1] = (name,) + WAYS[-1][1:]


simple("single", BASE, Base)
simple("single_with_own_init", BASE, Base, __init__=lambda self, a, b: None)
simple("first_of_two", BASE, Base, Plain)
simple("last_of_two", BASE, Plain, Base)
simple("between_two", BASE, Plain, Base, Slotless)
simple("behind_a_builtin", BASE, dict, Base)
simple("in_front_of_a_builtin", BASE, Base, list)
simple("behind_a_variable_size_builtin", BASE, tuple, Base)
simple("with_int", BASE, int, Base)
simple("with_exception", BASE, Base, KeyError)
simple("several", BASE_OTHER, Base, Other)
simple("several_the_other_way", OTHER_BASE, Other, Base)
simple("several_with_a_plain_one_first", OTHER_BASE, Plain, Other, Base)
simple("three", slots(None, (1, 11), (2, 22), (3, 333), (4, 4444)), Base, Other, Third)
simple("three_reversed", slots((3, 3333), None, (4, 4444), (2, 222), (1, 11)), Third, Other, Base)
simple("empty_one_first", BASE, Empty, Base)
simple("empty_one_last", BASE, Base, Empty)
simple("only_an_empty_one", [], Empty)
simple("made_from_an_extensible_base_in_c", OVERRIDE, Override)
simple("two_overrides", OVERRIDE, Override, AnotherOverride)
simple("two_overrides_the_other_way", ANOTHER_OVERRIDE, AnotherOverride, Override)
simple("generic_first", BASE, types.new_class("G", (Base, typing.Generic[T]))[int])
simple("base_through_mro_entries", BASE, Plain, Entries(Base))
simple("bases_through_mro_entries", OTHER_BASE, Entries(Other, Base))
simple("class_slots", BASE, Base, __slots__=("a", "b"))
simple("class_slots_empty", BASE, Base, __slots__=())
simple("class_slots_with_dict_and_weakref", BASE, Base, __slots__=("__dict__", "__weakref__"))
simple("class_slots_with_two_bases", BASE_OTHER, Base, Other, __slots__=("a",))


@way(BASE)
def a_thousand_levels():
    return functools.reduce(lambda cls, _: type("C", (cls,), {}), range(1000), Base)


@way(OVERRIDE)
def diamond_whose_right_arm_overrides():
    Left = type("Left", (Base,), {})
    return type("C", (Left, Override), {})


@way(ANOTHER_OVERRIDE)
def diamond_with_two_overrides():
    Left = type("Left", (Base,), {})
    return type("C", (Left, AnotherOverride, Override), {})


@way(slots(None, (1, 1111), (2, 222), (3, 333)))
def diamond_with_a_base_of_another_root():
    """The MRO is C, Left, Other, Right, Override, Base. The slots of Base keep their positions."""
    Left = type("Left", (Base,), {})
    Right = type("Right", (Override,), {})
    return type("C", (Left, Other, Right), {})


@way(BASE)
def generic_first_of_two():
    class C(typing.Generic[T], Base):
        pass
    return C


@way(OTHER_BASE)
def generic_in_the_middle_with_two_parameters():
    class C(Other, typing.Generic[T, U], Base):
        pass
    return C


@way(BASE_OTHER)
def subscripted_generic_and_another():
    class G(typing.Generic[T], Base):
        pass

    class C(Plain, G[int], Other):
        pass
    return C


@way(BASE, since=(3, 12))
def type_parameters():
    space = {"Base": Base}
    exec("class C[T](Base): pass", space)
    return space["C"]


@way(BASE)
def protocol_last():
    class C(Base, Speaks, metaclass=ProtocolMeta):
        pass
    assert bare(C).speak() == "hello"
    return C


@way(BASE)
def protocol_first_and_checked_at_run_time():
    @typing.runtime_checkable
    class Closes(typing.Protocol):
        def close(self):
            pass

    class C(Closes, Plain, Base, metaclass=ProtocolMeta):
        pass
    assert isinstance(bare(C), Closes) and not isinstance(bare(Base), Closes)
    return C


@way(BASE_OTHER)
def generic_protocol_and_two_extensible_bases():
    class Holds(typing.Protocol[T]):
        pass

    class C(Base, Holds[int], Other, metaclass=ProtocolMeta):
        pass
    return C


@way([])
def metaclass_called_on_object():
    return type(Base)("X", (object,), {})


@way([])
def metaclass_called_without_bases():
    return Metaclass("X", (), {})


@way([])
def metaclass_called_on_plain_bases():
    return Metaclass("X", (Plain, dict), {})


@way(BASE)
def type_called():
    return type("X", (Plain, Base), {"x": 5})


@way(BASE)
def subclass_of_both_a_late_comer_and_the_base():
    """The first base has our metaclass, but no slots."""
    return type("X", (Metaclass("N", (), {}), Base), {})


@way(BASE)
def type_new_past_tp_init():
    return type.__new__(Metaclass, "X", (Plain, Base), {})


@way(BASE_OTHER)
def classes_whose_bases_came_past_tp_init():
    left = type.__new__(Metaclass, "L", (Base,), {})
    right = type.__new__(Metaclass, "R", (Other,), {})
    return type.__new__(Metaclass, "X", (left, right), {})


@way(BASE)
def object_type_new_called_from_a_derived_metaclass():
    class Meta(Metaclass):
        def __new__(mcs, name, bases, namespace):
            return type.__new__(Metaclass, name, bases, namespace)  # not an instance of Meta
    return Meta("X", (Base,), {})


@way(BASE)
def class_statement_with_a_function_as_metaclass():
    class X(Base, metaclass=lambda name, bases, ns: Metaclass(name, bases, ns)):
        pass
    return X


@way(BASE_OTHER)
def new_class_of_the_types_module():
    class Meta(Metaclass):
        def __init__(cls, name, bases, namespace, **kwargs):
            super().__init__(name, bases, namespace)

        def __new__(mcs, name, bases, namespace, **kwargs):
            return super().__new__(mcs, name, bases, namespace)
    return types.new_class("X", (Base, Other), {"metaclass": Meta, "flavour": 1}, lambda ns: None)


@way(BASE)
def decorator_that_makes_the_class_again():
    def again(cls):
        space = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
        return type(cls)(cls.__name__, cls.__bases__, space)

    @again
    class X(Base):
        attribute = 5
    return X


@way(BASE_OTHER)
def two_metaclasses_of_ours():
    one, two = (type(name, (Metaclass,), {}) for name in ("One", "Two"))
    bases = one("A", (Base,), {}), two("B", (Other,), {})
    try:
        type("C", bases, {})
    except TypeError as error:
        assert "metaclass conflict" in str(error)
    else:
        raise AssertionError("no conflict")
    return type("Both", (one, two), {})("C", bases, {})


@way(OTHER_BASE)
def a_metaclass_that_turns_the_mro_round():
    class Meta(Metaclass):
        def mro(cls):
            first, *bases, last = super().mro()
            return [first, *bases[::-1], last] if bases == [Base, Other] else super().mro()
    return Meta("C", (Base, Other), {})


@way(BASE)
def a_metaclass_of_a_metaclass():
    class MetaMeta(type):
        pass

    class Meta(Metaclass, metaclass=MetaMeta):
        pass
    return Meta("X", (Base,), {})


class EveryWay(unittest.TestCase):
    def one(self, function, expected):
        cls = function()
        self.assertTrue(issubclass(type(cls), Metaclass))
        # The subclass is looked up before its base.
        child = type("Child", (cls,), {})
        self.check(bare(child), expected)
        self.check(bare(cls), expected)
        grandchild = type("Grandchild", (cls, Last), {"__slots__": ()})
        self.check(bare(grandchild), expected)
        self.assertEqual(address(bare(grandchild)), address(bare(cls)), "it adds nothing: shared")
        dead = weakref.ref(cls)
        del cls, child, grandchild
        for _ in range(3):
            gc.collect()
        self.assertIsNone(dead(), "it can be collected")

    check = check_answers

    def test_all(self):
        for name, function, expected in WAYS:
            with self.subTest(name):
                self.one(function, expected)

    def test_the_table_of_ways_is_not_empty_and_names_are_unique(self):
        names = [name for name, _, _ in WAYS]
        self.assertGreaterEqual(len(names), 45)
        self.assertEqual(len(names), len(set(names)))

    def test_the_bases_are_what_they_were(self):
        for cls, expected in ((Base, BASE), (Other, slots((2, 222), (3, 333))), (Empty, []),
                              (Override, OVERRIDE), (Third, slots((3, 3333), None, (4, 4444)))):
            self.check(bare(cls), expected)


class ExtensibleMetaclasses(unittest.TestCase):
    """A class can be extensible and a metaclass at the same time."""

    def test_a_metaclass_that_offers_slots_itself(self):
        class Meta(Metaclass, Other):
            pass

        class C(Base, metaclass=Meta):
            pass

        check_answers(self, C, slots((2, 222), (3, 333)))
        check_answers(self, C(), BASE)
        check_answers(self, Meta, None)

    def test_an_extensible_class_of_ordinary_classes(self):
        class Meta(type, Base):
            pass

        ordinary = Meta("Ordinary", (), {})
        check_answers(self, ordinary, BASE)
        check_answers(self, ordinary(), None)
        self.assertFalse(check(Meta))

    def test_a_metaclass_cannot_have_class_slots(self):
        with self.assertRaisesRegex(TypeError, "__slots__"):
            type("Meta", (Metaclass,), {"__slots__": ("a",)})
        empty = type("Meta", (Metaclass,), {"__slots__": ()})
        check_answers(self, empty("X", (Base,), {})(), BASE)
