"""Tests data that are added to bases with an unknown struct."""

import copy
import datetime
import itertools
import gc
import pickle
import re
import sys
import unittest
import weakref

from collected import only_if
import foreign_module as foreign
import type_data_module as td


class PythonBase:
    pass


class PythonSlots:
    __slots__ = ("one", "two", "three")


BASES = [object, list, dict, set, Exception, OSError, PythonBase, PythonSlots, foreign.Odd,
         foreign.Static]
SPECIAL = td.READONLY | td.RELATIVE


def up(size):
    return -(-size // td.ALIGNMENT) * td.ALIGNMENT


class Layout(unittest.TestCase):
    def test_place_and_size(self):
        for base in BASES:
            for size in (1, 8, 15, 16, 17, 1000):
                with self.subTest(base=base.__name__, size=size):
                    cls = td.make(base, -size)
                    instance = cls()
                    self.assertIs(cls.__base__, base)
                    self.assertEqual(td.where(instance, cls), up(base.__basicsize__))
                    self.assertEqual(td.layout(cls)["size"], up(size))
                    self.assertEqual(cls.__basicsize__, td.where(instance, cls) + up(size))
                    self.assertEqual(td.data(instance, cls), bytes(up(size)))

    def test_odd_base(self):
        self.assertEqual(foreign.Odd.__basicsize__, object.__basicsize__ + 9)
        cls = td.make(foreign.Odd, -3)
        instance = cls()
        self.assertEqual(td.where(instance, cls), object.__basicsize__ + 16)
        td.fill(instance, cls, 0xFF)
        self.assertTrue(instance.intact())
        self.assertEqual(td.data(instance, cls), b"\xff" * 16)

    def test_inherited_size(self):
        for base in BASES:
            cls = td.make(base, 0)
            self.assertEqual(cls.__basicsize__, base.__basicsize__)
            self.assertIsInstance(cls(), base)

    def test_size_of_other_classes_is_not_negative(self):
        # The aligned size of the base is larger than the size of the type.
        self.assertEqual(td.layout(td.make(foreign.Odd, 0))["size"], 0)

    def test_two_levels(self):
        for base in BASES:
            with self.subTest(base=base.__name__):
                lower = td.make(base, -20)
                middle = type("Middle", (lower,), {"__slots__": ("slot",)})
                upper = td.make(middle, -5)
                instance = upper()
                td.fill(instance, lower, 0x11)
                instance.slot = "slot"
                td.fill(instance, upper, 0x22)
                self.assertEqual(td.data(instance, lower), b"\x11" * 32)
                self.assertEqual(td.data(instance, upper), b"\x22" * 16)
                self.assertEqual(instance.slot, "slot")
                self.assertEqual(td.where(instance, upper), up(middle.__basicsize__))

    def test_multiple_inheritance(self):
        class Mixin:
            def mixed(self):
                return "mixed"

        class Empty:
            __slots__ = ()

        cls = td.make(list, -16)
        made_in_c = td.make((Empty, cls, Mixin), -8)
        self.assertIs(made_in_c.__base__, cls)
        for bases in ((Mixin, cls), (cls, Mixin), (Empty, cls), (made_in_c, Mixin), (made_in_c,)):
            derived = type("Derived", bases, {})
            instance = derived([1, 2])
            td.fill(instance, cls, 0x33)
            instance.attribute = 1
            instance.append(3)
            self.assertEqual(instance, [1, 2, 3])
            self.assertEqual(td.data(instance, cls), b"\x33" * 16)
            if issubclass(derived, made_in_c):
                self.assertEqual(td.data(instance, made_in_c), bytes(16))
        with self.assertRaisesRegex(TypeError, "lay-out conflict"):
            type("Derived", (cls, td.make(list, -16)), {})

    def test_a_mixins_dict_is_not_in_the_instances(self):
        class Mixin:
            mixed = "mixed"

        for base, basicsize in ((list, 0), (list, -16), (foreign.Odd, -16)):
            cls = td.make((base, Mixin), basicsize)
            self.assertEqual(td.layout(cls)["dict"], 0)
            instance = cls()
            with self.assertRaises(AttributeError):
                instance.attribute = 1
            self.assertEqual(instance.mixed, "mixed")
            instance = type("Derived", (cls,), {})()
            instance.attribute = 1
            self.assertEqual(vars(instance), {"attribute": 1})
            if basicsize:
                self.assertEqual(td.data(instance, cls), bytes(16))
        # The `__dict__` of the base that determines the layout is used.
        for bases in ((PythonBase, Mixin), (Mixin, td.make(PythonBase, -8)), (Exception, Mixin)):
            instance = td.make(bases, -16)()
            instance.attribute = 1
            self.assertEqual(vars(instance), {"attribute": 1})

    def test_subclasses_in_python(self):
        for base in BASES:
            cls = td.make(base, -24)
            plain = type("Plain", (cls,), {})
            slotted = type("Slotted", (plain,), {"__slots__": ("slot",)})
            only_slots = type("OnlySlots", (cls,), {"__slots__": ("slot",)})
            for derived in (plain, slotted, only_slots):
                with self.subTest(base=base.__name__, derived=derived.__name__):
                    instance = derived()
                    self.assertEqual(td.data(instance, cls), bytes(32))
                    if derived is not plain:
                        instance.slot = 7
                    if derived is not only_slots:
                        instance.attribute = 8
                    td.fill(instance, cls, 0x44)
                    gc.collect()
                    self.assertEqual(td.data(instance, cls), b"\x44" * 32)
                    self.assertEqual(getattr(instance, "slot", 7), 7)
                    self.assertEqual(getattr(instance, "attribute", 8), 8)

    def test_items_at_end(self):
        packet = td.make(foreign.Packet, -12, flags=td.ITEMS_AT_END)
        upper = td.make(packet, -4)
        derived = type("Derived", (upper,), {"__slots__": ()})
        for cls in (packet, upper, derived):
            for count in (0, 1, 5):
                instance = cls(count)
                td.fill(instance, packet, 0x55)
                if cls is not packet:
                    td.fill(instance, upper, 0x66)
                self.assertEqual(instance.items(), list(range(count)))
                self.assertEqual(td.items(instance), cls.__basicsize__)
        self.assertEqual(td.items(type), type.__basicsize__)
        self.assertEqual(td.items(PythonBase), type.__basicsize__)


class Members(unittest.TestCase):
    def test_values(self):
        members = [("a", td.T_INT, 16, td.RELATIVE), ("b", td.T_DOUBLE, 8, SPECIAL),
                   ("c", td.T_OBJECT_EX, 0, td.RELATIVE)]
        for base in BASES:
            with self.subTest(base=base.__name__):
                cls = td.make(base, -20, members=members)
                start = up(base.__basicsize__)
                # The type's own copy of a member has an absolute offset, without the flag.
                self.assertEqual(td.member_flags(cls), {
                    "a": (start + 16, 0), "b": (start + 8, td.READONLY), "c": (start, 0)})
                instance = type("Derived", (cls,), {})()
                self.assertEqual((instance.a, instance.b), (0, 0.0))
                with self.assertRaises(AttributeError):
                    instance.c
                with self.assertRaises(AttributeError):
                    instance.b = 1.0
                instance.a = -2
                instance.c = "object"
                self.assertEqual((instance.a, instance.c), (-2, "object"))
                self.assertEqual(td.data(instance, cls)[16:20],
                                 (-2).to_bytes(4, "little", signed=True))
                del instance.c
                self.assertFalse(hasattr(instance, "c"))

    def test_two_levels(self):
        lower = td.make(list, -4, members=[("a", td.T_INT, 0, td.RELATIVE)])
        upper = td.make(lower, -8, members=[("b", td.T_INT, 4, td.RELATIVE)])
        instance = upper()
        instance.a, instance.b = 1, 2
        self.assertEqual(td.data(instance, lower), bytes((1, 0, 0, 0)) + bytes(12))
        self.assertEqual(td.data(instance, upper), bytes((0, 0, 0, 0, 2, 0, 0, 0)) + bytes(8))

    def test_weak_references_and_dict(self):
        for weak, dictionary in ((0, 8), (8, 0), (24, 16)):
            members = [("__weaklistoffset__", td.T_PYSSIZET, weak, SPECIAL),
                       ("__dictoffset__", td.T_PYSSIZET, dictionary, SPECIAL)]
            for base in (object, list, foreign.Odd):
                with self.subTest(base=base.__name__, weak=weak):
                    # Without this flag, CPython clears neither.
                    collected = 0 if base is list else td.HAVE_GC
                    cls = td.make(base, -32, flags=collected, members=members)
                    layout, start = td.layout(cls), up(base.__basicsize__)
                    self.assertEqual(layout["weaklist"], start + weak)
                    self.assertEqual(layout["dict"], start + dictionary)
                    self.assertNotIn("__weaklistoffset__", vars(cls))
                    self.assertNotIn("__dictoffset__", vars(cls))
                    for derived in (cls, type("Derived", (cls,), {"__slots__": ()})):
                        instance = derived()
                        instance.attribute = "value"
                        dead = []
                        reference = weakref.ref(instance, dead.append)
                        self.assertIs(reference(), instance)
                        self.assertEqual(instance.attribute, "value")
                        del instance
                        gc.collect()
                        self.assertEqual(dead, [reference])

    def test_own_weak_references_replace_the_bases(self):
        # set has its own weak references.
        members = [("__weaklistoffset__", td.T_PYSSIZET, 0, SPECIAL)]
        cls = td.make(set, -8, members=members)
        self.assertEqual(td.layout(cls)["weaklist"], up(set.__basicsize__))

    def test_vectorcall(self):
        members = [("__vectorcalloffset__", td.T_PYSSIZET, 8, SPECIAL)]
        for base in (object, list):
            cls = td.make(base, -16, flags=td.HAVE_VECTORCALL, members=members)
            self.assertEqual(td.layout(cls)["vectorcall"], up(base.__basicsize__) + 8)
            instance = cls()
            td.set_vectorcall(instance, cls, 8)
            self.assertEqual(instance(1, 2, 3), 3)


class Uses(unittest.TestCase):
    """Tests a tag and a counter that are added to many bases."""

    def check(self, base, *args):
        cls = td.tagged(base)
        for made in (cls, type("Python", (cls,), {}), td.make(cls, -8)):
            instance = made(*args)
            instance.tag = ["tag"]
            self.assertEqual([instance.bump() for _ in range(3)], [1, 2, 3])
            self.assertEqual(instance.bumps, 3)
            self.assertIsInstance(instance, base)
            yield instance
            gc.collect()
            self.assertEqual(instance.tag, ["tag"])
            self.assertEqual(instance.bumps, 3)

    def test_list(self):
        for numbers in self.check(list, [3, 1, 2]):
            numbers.sort()
            numbers += range(100)
            self.assertEqual(numbers[:3], [1, 2, 3])
            self.assertEqual(copy.copy(list(numbers)), numbers)

    def test_dict(self):
        for mapping in self.check(dict, {"a": 1}):
            mapping.update((str(i), i) for i in range(100))
            self.assertEqual(mapping["a"] + mapping["99"], 100)

    def test_set(self):
        for values in self.check(set, "abc"):
            values.update(range(100))
            self.assertEqual(len(values & {"a", 1, 2, "x"}), 3)
            self.assertIsNotNone(weakref.ref(values)())

    def test_exception(self):
        for error in self.check(Exception, "text", 5):
            try:
                raise error
            except Exception as caught:
                self.assertEqual((caught.args, caught.bumps), (("text", 5), 3))
                self.assertIsNotNone(caught.__traceback__)
            error.__traceback__ = None

    def test_bases_that_allocate_less_than_their_size(self):
        for base, arguments in ((datetime.datetime, (2026, 11, 28)), (datetime.time, (1, 2, 3))):
            for flags, frees in itertools.product((0, td.HAVE_GC), (0, 1)):
                made = td.make(base, -64, flags=flags, frees=frees)
                for zone in None, datetime.timezone.utc:
                    with self.subTest(base=base, flags=flags, frees=frees, zone=zone):
                        plain = base(*arguments, tzinfo=zone)
                        objects = [made(*arguments, tzinfo=zone) for _ in range(100)]
                        for each in objects:
                            self.assertEqual(td.data(each, made), bytes(64))
                            td.fill(each, made, 0xab)
                        self.assertEqual(pickle.loads(pickle.dumps(plain)), objects[0])
                        self.assertEqual(objects[0].replace(minute=3), plain.replace(minute=3))
                        self.assertEqual({td.data(each, made) for each in objects}, {b"\xab" * 64})

    def test_another_extensions_types(self):
        for odd in self.check(foreign.Odd):
            self.assertTrue(odd.intact())
        for held in self.check(foreign.Static):
            held.hold(held)

    def test_class_made_in_python(self):
        for instance in self.check(PythonBase):
            instance.attribute = 1
            self.assertEqual(vars(instance)["attribute"], 1)
        for instance in self.check(PythonSlots):
            instance.three = 3
            self.assertEqual(instance.three, 3)

    def test_freed(self):
        class Probe:
            pass

        for base in BASES:
            if not base.__flags__ & td.HAVE_GC and base is not object:
                continue
            for cycle in (False, True):
                cls = td.tagged(base)
                for made in (cls, type("Python", (cls,), {})):
                    with self.subTest(base=base.__name__, made=made.__name__, cycle=cycle):
                        instance = made()
                        instance.tag = Probe()
                        dead = weakref.ref(instance.tag)
                        if cycle:
                            instance.tag.cycle = instance
                        gc.disable()
                        try:
                            del instance
                            self.assertEqual(dead() is None, not cycle)
                        finally:
                            gc.enable()
                        gc.collect()
                        self.assertIsNone(dead())

    def test_type_is_freed(self):
        for base in BASES:
            cls = td.tagged(base)
            cls().tag = cls
            dead = weakref.ref(cls)
            del cls
            gc.collect()
            self.assertIsNone(dead(), base.__name__)


class DuringACollection(unittest.TestCase):
    @only_if(sys.version_info >= (3, 15))  # this function is new in 3.15
    def test_data_are_found_by_what_tp_traverse_may_call(self):
        with open(td.__file__, "rb") as file:
            names = set(re.findall(rb"PyObject_GetTypeData\w*(?=\0)", file.read()))
        self.assertEqual(names, {b"PyObject_GetTypeData_DuringGC"})
