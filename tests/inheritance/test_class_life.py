# Look-ups while a class is being made, metaclasses that do not play by the rules, and what happens
# to slots when `__bases__`, `__class__` or the metaclass of a finished class is assigned.
import gc
import unittest
import weakref

from slot_ids import ID, bare, check_answers, slots
from slot_probe import Metaclass, address, allocate, find, make, table

Base = make(slots((1, 11), (2, 22)))
Other = make(slots((2, 222), (3, 333)))
BASE = slots((1, 11), (2, 22))
OTHER = slots((2, 222), (3, 333))
BOTH = slots((1, 11), (2, 22), (3, 333))


class Plain:
    pass


class WhileItIsMade(unittest.TestCase):
    def test_init_subclass(self):
        seen = []

        class P(Base):
            def __init_subclass__(cls, **kwargs):
                seen.append(table(bare(cls)))

        class Q(Plain, P):
            pass

        class R(P, Other):
            pass

        self.assertEqual(seen, [BASE, BOTH])
        check_answers(self, Q(), BASE)
        check_answers(self, R(), BOTH)

    def test_init_subclass_that_makes_subclasses_itself(self):
        made = []

        class P(Base):
            def __init_subclass__(cls, **kwargs):
                if len(made) < 20:
                    made.append(cls)
                    type("Deeper", (cls, Other), {})

        class Q(P):
            pass

        for cls in made[1:]:
            check_answers(self, bare(cls), BOTH)
        check_answers(self, Q(), BASE)

    def test_init_subclass_that_raises(self):
        class P(Base):
            def __init_subclass__(cls, **kwargs):
                P.kept = bare(cls)
                find(P.kept, ID(1))
                raise KeyError("no subclass")

        with self.assertRaises(Exception):
            type("Q", (P, Other), {})
        check_answers(self, P.kept, BOTH)
        check_answers(self, P(), BASE)

    def test_init_subclass_that_assigns_bases_before_anybody_looked(self):
        class Old(Base):
            __slots__ = ()

            def __init_subclass__(cls, **kwargs):
                cls.__bases__ = (New,)

        class New(Other):
            __slots__ = ()

        class C(Old):
            pass

        self.assertEqual(C.__mro__, (C, New, Other, object))
        check_answers(self, C(), OTHER)

    def test_set_name(self):
        class Descriptor:
            def __set_name__(self, owner, name):
                self.seen = table(bare(owner))

        class C(Plain, Base):
            d = Descriptor()

        self.assertEqual(vars(C)["d"].seen, BASE)
        check_answers(self, C(), BASE)

    def test_mro(self):
        """There is no MRO yet: the answer is nothing, and it is not kept."""
        seen = []

        class Meta(Metaclass):
            def mro(cls):
                obj = allocate(cls)
                seen.append((obj, table(obj), find(obj, ID(1))))
                return super().mro()

        Keeper, Spare = (type("S", (base,), {"__slots__": ()}) for base in (Base, Other))

        class C(Keeper, metaclass=Meta):
            __slots__ = ()

        self.assertEqual(len(seen), 1)
        for obj, early, found in seen:
            self.assertEqual((early, found), (None, None))
            check_answers(self, obj, BASE)
        check_answers(self, C(), BASE)
        # The second time there is one, the class's old one; the slots stay as they are.
        del seen[:]
        C.__bases__ = (Spare,)
        self.assertEqual([early for _, early, _ in seen], [BASE])
        check_answers(self, C(), BASE)

    def test_mro_that_fails(self):
        class Meta(Metaclass):
            def mro(cls):
                raise KeyError("no order")

        class Odd(Metaclass):
            def mro(cls):
                return [cls, 5, object]

        for meta in (Meta, Odd):
            with self.assertRaises((KeyError, TypeError)):
                meta("C", (Base,), {})
        check_answers(self, Base(), BASE)

    def test_mro_with_types_that_are_no_bases(self):
        class Meta(Metaclass):
            def mro(cls):
                return [cls, Other, Plain] + super().mro()[1:]

        cls = Meta("C", (Base,), {})
        check_answers(self, cls(), OTHER + slots((1, 11)))
        # Its own bases are not in it, and what is not in the MRO is not inherited.
        short = type("Short", (Metaclass,), {"mro": lambda cls: [object, cls]})("S", (Base,), {})
        check_answers(self, Base.__new__(short), [])

    def test_prepare_and_call(self):
        class Meta(Metaclass):
            @classmethod
            def __prepare__(mcs, name, bases, **kwargs):
                return {"bases_seen": [table(bare(b)) for b in bases]}

            def __call__(cls, *args):
                obj = super().__call__(*args)
                return obj, table(obj)

        class C(Base, metaclass=Meta):
            pass

        self.assertEqual((C.bases_seen, C()[1]), ([BASE], BASE))


class MetaclassesThatForget(unittest.TestCase):
    def check(self, meta, bases, expected):
        for first in (0, 1):  # which of the two is looked at first
            cls = meta("C", bases, {})
            child = type("D", (cls,), {})
            grandchild = type("E", (child, Plain), {})
            order = [grandchild, child, cls]
            for made in order if first else order[::-1]:
                check_answers(self, bare(made), expected)

    def test_init_without_super(self):
        class Meta(Metaclass):
            def __init__(cls, *args):
                pass

        self.check(Meta, (Base,), BASE)
        self.check(Meta, (Plain, Base, Other), BOTH)
        self.check(Meta, (), [])

    def test_init_of_type_alone(self):
        class Meta(Metaclass):
            def __init__(cls, *args):
                type.__init__(cls, *args)

        self.check(Meta, (Other, Base), OTHER + slots((1, 11)))

    def test_init_that_looks_before_super(self):
        class Meta(Metaclass):
            def __init__(cls, *args):
                cls.early = table(bare(cls))
                super().__init__(*args)

        cls = Meta("C", (Plain, Base), {})
        self.assertEqual(cls.early, BASE)
        self.check(Meta, (Plain, Base), BASE)

    def test_init_that_raises(self):
        kept = []

        class Meta(Metaclass):
            def __init__(cls, *args):
                kept.append(cls)
                raise KeyError("not finished")

        self.assertRaises(KeyError, Meta, "C", (Base,), {})
        check_answers(self, bare(kept[0]), BASE)

    def test_new_of_type(self):
        class Meta(Metaclass):
            def __new__(mcs, *args):
                return type.__new__(mcs, *args)

        self.check(Meta, (Base,), BASE)

    def test_new_that_gives_something_else(self):
        class Meta(Metaclass):
            def __new__(mcs, name, bases, namespace):
                return type("Ordinary", (), {}) if not bases else 5

        self.assertEqual(Meta("C", (Base,), {}), 5)
        check_answers(self, Meta("C", (), {})(), None)

    def test_init_called_a_second_time(self):
        cls = Metaclass("C", (Base,), {})
        obj = cls()
        before = address(obj)
        for again in (("C", (Other,), {}), ("C", (), {}), ("C", (Base, Other), {"x": 1}), ("C",)):
            Metaclass.__init__(cls, *again)
            check_answers(self, obj, BASE)
        for wrong in ((), ("C", ()), (1, 2, 3, 4)):
            self.assertRaises(TypeError, Metaclass.__init__, cls, *wrong)
        self.assertEqual(address(obj), before)
        never = type.__new__(Metaclass, "N", (Other,), {})
        Metaclass.__init__(never, "C", (Base,), {})
        check_answers(self, never(), OTHER)

    def test_init_on_types_that_are_not_ours(self):
        for other in (int, type, object, Plain, Metaclass):
            try:
                Metaclass.__init__(other, "x", (), {})
            except TypeError:
                continue
            self.fail(other)
        self.assertRaises(TypeError, Metaclass.__init__, 5, "x", (), {})
        self.assertRaises(TypeError, Metaclass.__new__, Metaclass)
        self.assertRaises(TypeError, object.__new__, Metaclass)


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
        # A later subclass inherits what its first base offers, and what the new MRO brings.
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
        check_answers(self, late(), BASE)  # nobody had looked: this is its first time

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
        obj.__class__ = late  # nobody has looked at that one
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


if __name__ == "__main__":
    unittest.main()
