"""Tests data for each class, in a metaclass derived from the metaclass for custom slots."""

import gc
import unittest
import weakref

import class_data_module as cd  # creates _extensibletype
import type_data_module as td

import _extensibletype


class ClassData(unittest.TestCase):
    def test_place(self):
        base = _extensibletype.extensibletype_v2
        self.assertEqual(cd.Wrapped.__mro__, (cd.Wrapped, base, type, object))
        self.assertEqual(cd.Wrapped.__itemsize__, type.__itemsize__)
        aligned = -(-base.__basicsize__ // td.ALIGNMENT) * td.ALIGNMENT
        self.assertEqual(cd.offset(cd.wrap(1, None)), aligned)
        self.assertEqual(td.layout(cd.Wrapped)["at_end"], 1)
        self.assertEqual(td.items(cd.wrap(1, None)), cd.Wrapped.__basicsize__)

    def test_made_in_c(self):
        origin = object()
        cls = cd.wrap(42, origin)
        self.assertIs(type(cls), cd.Wrapped)
        self.assertEqual((cls.kind, cls.native), (42, "ns::Native"))
        self.assertIs(cls.origin, origin)
        cls.kind = -1
        gc.collect()
        self.assertEqual(cls.kind, -1)
        with self.assertRaises(AttributeError):
            cls.native = "other"

    def test_made_in_python(self):
        class Made(metaclass=cd.Wrapped):
            __slots__ = ("a", "b")

        self.assertEqual((Made.kind, Made.native), (0, None))
        Made.kind = 7
        instance = Made()
        instance.a, instance.b = 1, 2  # the data come before the member definitions
        self.assertEqual((instance.a, instance.b, Made.kind), (1, 2, 7))
        self.assertFalse(hasattr(instance, "kind"))

    def test_subclasses_have_their_own(self):
        base = cd.wrap(1, "base")

        class Derived(base):
            pass

        self.assertIs(type(Derived), cd.Wrapped)
        Derived.kind = 2
        self.assertEqual((base.kind, Derived.kind, Derived.native), (1, 2, None))
        with self.assertRaises(AttributeError):
            Derived.origin

    def test_metaclass_derived_again(self):
        class InPython(cd.Wrapped):
            def __init__(cls, *args, **kwargs):
                super().__init__(*args, **kwargs)
                cls.kind = 9

        further = td.make(cd.Wrapped, -40, members=[("a", td.T_INT, 32, td.RELATIVE)])
        self.assertEqual(td.layout(further)["itemsize"], type.__itemsize__)
        both = type("Both", (InPython, further), {})
        for metaclass in (InPython, further, both):
            cls = metaclass("Made", (cd.wrap(1, None),), {"__slots__": ("x",)})
            cls.kind += 1
            self.assertEqual(cls.kind, 1 if metaclass is further else 10)
            if metaclass is not InPython:
                cls.a = 5
                self.assertEqual((cls.a, cls.kind), (5, 1 if metaclass is further else 10))
            instance = cls()
            instance.x = "x"
            self.assertEqual(instance.x, "x")

    def test_slots(self):
        base = cd.wrap(3, None)
        self.assertIsNone(cd.find(base()))
        offering = cd.offer(base, 1234)
        self.assertIs(type(offering), cd.Wrapped)
        offering.kind, offering.origin = 5, base
        self.assertEqual(cd.find(offering()), 1234)

        class Derived(offering):
            pass

        class FromPlain(metaclass=cd.Wrapped):
            pass

        Derived.kind = 6
        self.assertEqual(cd.find(Derived()), 1234)
        self.assertEqual(cd.find(cd.offer(Derived, 99)()), 99)
        self.assertIsNone(cd.find(FromPlain()))
        # Looking up slots does not change the data.
        self.assertEqual((offering.kind, offering.origin, Derived.kind), (5, base, 6))

        plain_metaclass = cd.offer(object, 77)
        self.assertIs(type(plain_metaclass), _extensibletype.extensibletype_v2)
        self.assertEqual(cd.find(plain_metaclass()), 77)

    def test_instances_may_have_data_too(self):
        cls = td.make(cd.offer(cd.wrap(1, None), 55), -16, metaclass=cd.Wrapped,
                      members=[("a", td.T_INT, 0, td.RELATIVE)])
        cls.kind = 8
        instance = cls()
        instance.a = 4
        self.assertEqual((instance.a, cls.kind), (4, 8))
        self.assertEqual(cd.find(instance), 55)

    def test_freed(self):
        class Origin:
            pass

        for make_class in (lambda: cd.wrap(1, None), lambda: cd.Wrapped("Made", (), {}),
                           lambda: cd.offer(cd.wrap(1, None), 1)):
            cls = make_class()
            cls.origin = Origin()
            cls.origin.cycle = cls
            dead = weakref.ref(cls), weakref.ref(cls.origin)
            del cls
            gc.collect()
            self.assertEqual([reference() for reference in dead], [None, None])
