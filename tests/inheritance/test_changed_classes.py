# Tests slots after an assignment to `__bases__` or `__class__`, and slots of dying classes.
import gc
import unittest
import weakref

from slot_ids import bare, check_answers, slots
from slot_tools import Metaclass, address, make, table

Base = make(slots((1, 11), (2, 22)))
Other = make(slots((2, 222), (3, 333)))
BASE = slots((1, 11), (2, 22))
BOTH = slots((1, 11), (2, 22), (3, 333))


class Plain:
    pass


class BasesAssigned(unittest.TestCase):
    def setUp(self):
        self.Left = type("Left", (Base,), {"__slots__": ()})
        self.Right = type("Right", (Other,), {"__slots__": ()})
        self.Bare = Metaclass("Bare", (), {"__slots__": ()})

    def test_slots_stay_those_of_creation(self):
        cls = type("C", (self.Left,), {})
        child = type("D", (cls,), {})
        obj, young = cls(), child()
        before = address(obj)
        for bases in ((self.Right,), (self.Left, self.Right), (self.Right, self.Left)):
            cls.__bases__ = bases
            self.assertEqual(cls.__mro__[1], bases[0])
            for each in (obj, young, cls(), child()):
                check_answers(self, each, BASE)
        self.assertEqual(address(obj), before)

    def test_dropped_base_that_is_collected(self):
        gone = make(slots((7, 77), None, (8, 88)))
        middle = type("Middle", (gone,), {"__slots__": ()})
        cls = type("C", (middle,), {})
        obj, child, dead = cls(), type("D", (cls,), {}), [weakref.ref(gone), weakref.ref(middle)]
        cls.__bases__ = (self.Right,)
        del gone, middle
        for _ in range(3):
            gc.collect()
        self.assertEqual([ref() for ref in dead], [None, None])
        later = type("E", (cls,), {"__slots__": ()})
        for each in (obj, child(), cls()):
            check_answers(self, each, slots((7, 77), None, (8, 88)))
        # A new subclass inherits the slots of its first base and those of the new MRO.
        check_answers(self, later(), slots((7, 77), None, (8, 88), (2, 222), (3, 333)))

    def test_failed_assignment_changes_nothing(self):
        cls = type("C", (self.Left,), {})
        for bases in ((), (int,), (5,), (cls,), (self.Left, self.Left), (self.Right, int)):
            self.assertRaises(TypeError, setattr, cls, "__bases__", bases)
        check_answers(self, cls(), BASE)

    def test_base_without_slots_gets_a_subclass_of_one_with(self):
        cls = type("C", (self.Bare,), {})
        late = type.__new__(Metaclass, "Late", (self.Bare,), {})
        obj = cls()
        check_answers(self, obj, [])
        for made in (cls, late):
            made.__bases__ = (self.Left,)
        for each in (obj, cls()):
            check_answers(self, each, [])
        check_answers(self, late(), BASE)  # the first look-up

    def test_in_a_finaliser_of_the_dropped_base(self):
        class Meta(Metaclass):
            def __del__(cls):
                seen.append(table(obj))

        seen = []
        middle = Meta("Middle", (self.Left,), {"__slots__": ()})
        cls = type("C", (middle,), {})
        obj = cls()
        cls.__bases__ = (self.Left,)
        del middle
        gc.collect()
        self.assertEqual(seen, [BASE])
        check_answers(self, obj, BASE)


class Ends(unittest.TestCase):
    def test_a_class_that_its_finaliser_brings_back(self):
        kept = []

        class Meta(Metaclass):
            def __del__(cls):
                kept.append(cls)
                check_answers(test, bare(cls), BOTH)

        test = self
        for late in (False, True):
            make_class = type.__new__ if late else type.__call__
            cls = make_class(Meta, "C", (Base, Other), {})
            dead = weakref.ref(cls)
            del cls
            gc.collect()
            self.assertEqual(len(kept), 1)
            for _ in range(3):
                gc.collect()
                check_answers(self, bare(kept[0]), BOTH)
            kept.clear()
            gc.collect()
            self.assertIsNone(dead())

    def test_an_object_that_looks_while_its_class_goes(self):
        seen = []

        class C(Base):
            def __del__(self):
                seen.append(table(self))

        C.keeps_itself = C()
        del C
        gc.collect()
        self.assertEqual(seen, [BASE])


class ClassAssigned(unittest.TestCase):
    def test_slots_follow_the_new_class(self):
        one, two = type("One", (Base,), {}), type("Two", (Base, Other), {})
        three = type("Three", (Base,), {"__init__": None})
        obj = one()
        check_answers(self, obj, BASE)
        for cls, expected in ((two, BOTH), (three, BASE), (one, BASE), (two, BOTH)):
            obj.__class__ = cls
            check_answers(self, obj, expected)
        for cls in (int, Base, type("Slotted", (Base,), {"__slots__": ("a",)})):
            self.assertRaises(TypeError, setattr, obj, "__class__", cls)
            check_answers(self, obj, BOTH)

    def test_override_and_back(self):
        override = make(slots((1, 1111)), Base)
        one, two = (type(name, (override,), {"__slots__": ()}) for name in ("One", "Two"))
        late = type.__new__(Metaclass, "Late", (override,), {"__slots__": ()})
        obj = one()
        obj.__class__ = late  # `late` is not resolved yet
        check_answers(self, obj, slots((1, 1111), (2, 22)))
        obj.__class__ = two
        check_answers(self, obj, slots((1, 1111), (2, 22)))

    def test_between_ordinary_and_extensible(self):
        class Ordinary:
            pass

        extensible = Metaclass("E", (), {})
        obj = Ordinary()
        check_answers(self, obj, None)
        obj.__class__ = extensible
        check_answers(self, obj, [])
        obj.__class__ = Ordinary
        check_answers(self, obj, None)
        obj.__class__ = type("OrdinaryFirst", (Ordinary, Base), {})
        check_answers(self, obj, BASE)
        obj.__class__ = Ordinary
        check_answers(self, obj, None)

    def test_the_metaclass_of_a_class(self):
        class One(Metaclass):
            pass

        class Two(Metaclass):
            def __init__(cls, *args):
                pass

        class Foreign(type):
            pass

        cls, late = One("C", (Base,), {}), type.__new__(One, "L", (Base,), {})
        for made in (cls, late):
            made.__class__ = Two
            check_answers(self, made(), BASE)
            for wrong in (type, Foreign, int):
                self.assertRaises(TypeError, setattr, made, "__class__", wrong)
        ordinary = Foreign("F", (), {})
        for ours in (Metaclass, One):
            self.assertRaises(TypeError, setattr, ordinary, "__class__", ours)
        check_answers(self, ordinary(), None)
