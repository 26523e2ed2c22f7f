# Tests look-ups while a class is being made, and metaclasses that break the rules.
import unittest

from slot_ids import ID, bare, check_answers, slots
from slot_tools import Metaclass, address, allocate, find, make, table

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
            def __init_subclass__(cls, flavour="none", **kwargs):
                seen.append((flavour, table(bare(cls))))

        class Q(Plain, P, flavour="salt"):
            pass

        class R(P, Other):
            pass

        self.assertEqual(seen, [("salt", BASE), ("none", BOTH)])
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
        """A class without an MRO has no slots yet."""
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
        # The class still has its old MRO while the new one is computed.
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
        behind = type("Behind", (Metaclass,), {"mro": lambda cls: [Base, Other, cls, object]})("C", (Base, Other), {})
        check_answers(self, behind(), BOTH)
        # Nothing is inherited from bases that are not in the MRO.
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
        for first in (0, 1):  # which class is looked up first
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
