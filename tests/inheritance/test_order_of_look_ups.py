# Tests that the slots of a class do not depend on earlier look-ups on its bases.
import unittest

from slot_ids import ID, bare, check_answers, slots
from slot_tools import Metaclass, find, make, table

Base = make(slots((1, 11)))
Other = make(slots((2, 22)))


class Forgetful(Metaclass):
    def __init__(cls, *args):
        pass


WAYS = {
    "a metaclass that forgets super": lambda *args: Forgetful(*args),
    "type.__new__": lambda *args: type.__new__(Metaclass, *args),
}


class OrderOfLookUps(unittest.TestCase):
    def test_slots_of_a_base_s_body_are_inherited(self):
        for name, way in WAYS.items():
            for looked_at in (True, False):
                with self.subTest(name, looked_at=looked_at):
                    middle = way("Middle", (Base,), {"__customslots__": {ID(5): 55}})
                    if looked_at:
                        check_answers(self, bare(middle), slots((1, 11), (5, 55)))
                    child = type("Child", (middle,), {"__customslots__": {ID(6): 66}})
                    check_answers(self, bare(child), slots((1, 11), (5, 55), (6, 66)))
                    check_answers(self, bare(middle), slots((1, 11), (5, 55)))

    def test_positions(self):
        for name, way in WAYS.items():
            for looked_at in (True, False):
                with self.subTest(name, looked_at=looked_at):
                    middle = way("Middle", (Base,), {})
                    if looked_at:
                        check_answers(self, bare(middle), slots((1, 11)))
                    both = Metaclass("Both", (Other, Base), {})
                    child = Metaclass("Child", (middle, both), {})
                    self.assertEqual(table(bare(child)), slots((1, 11), (2, 22)))

    def test_a_faulty_base_is_reported_by_its_subclass(self):
        middle = type.__new__(Metaclass, "Middle", (Base,), {"__customslots__": 5})
        with self.assertRaisesRegex(TypeError, "type 'Middle': __customslots__ must be"):
            Metaclass("Child", (middle,), {})

    def test_a_long_chain(self):
        cls = type.__new__(Metaclass, "C0", (Base,), {"__customslots__": {ID(5): 55}})
        for i in range(150):
            cls = type.__new__(Metaclass, "C%d" % i, (cls,), {})
        check_answers(self, bare(cls), slots((1, 11), (5, 55)))

    def test_classes_that_are_in_the_mro_of_each_other(self):
        """Only mro() can make such classes. Resolving them must not recurse endlessly."""
        others = {}

        class Mutual(Metaclass):
            def __init__(cls, *args):
                pass

            def mro(cls):
                return [cls] + others.get(cls.__name__, []) + [Base, object]

        def plain_base(name):
            return type(name, (Base,), {"__slots__": ()})

        a = Mutual("A", (plain_base("P"),), {"__slots__": ()})
        b = Mutual("B", (plain_base("Q"),), {"__slots__": ()})
        others["A"], others["B"] = [b], [a]
        a.__bases__ = (plain_base("R"),)
        b.__bases__ = (plain_base("S"),)
        for cls in (a, b):
            self.assertIn(table(bare(cls)), (None, [], slots((1, 11))))


    def test_a_class_derived_while_its_base_is_being_settled(self):
        """Reading the declaration of a base makes a subclass of the class that is being settled."""
        made = []

        class Deriving(dict):
            def items(self):
                if not made:
                    made.append(None)
                    (middle,) = declared.__subclasses__()
                    made[0] = type("Child", (middle,), {"__customslots__": {ID(4): 44}})
                    # The slots that the new class will inherit do not exist yet.
                    self.seen = find(bare(made[0]), ID(3))
                    self.refused = None
                    try:
                        make(slots((5, 55)), (middle,))
                    except RuntimeError as error:
                        self.refused = str(error)
                return super().items()

        declaration = Deriving({ID(2): 22})
        declared = type.__new__(Metaclass, "Declared", (object,), {"__customslots__": declaration})

        class Middle(declared, Base):
            __customslots__ = {ID(3): 33}

        child = made[0]
        self.assertIsNone(declaration.seen)
        self.assertIn("are being settled", declaration.refused)
        expected = slots((1, 11), (2, 22), (3, 33))
        self.assertEqual(sorted(table(bare(Middle))), expected)
        for below, own in ((child, (4, 44)), (type("Below", (child,), {}), (4, 44)),
                           (make(slots((5, 55)), (Middle,)), (5, 55))):
            self.assertEqual(sorted(table(bare(below))), expected + slots(own))


class GivenByC(unittest.TestCase):
    def test_slots_from_c_are_never_dropped(self):
        """Reading a declaration looks up slots on a class that C code is still making."""
        class Asking(dict):
            def items(self):
                for cls in asking.__subclasses__():
                    find(bare(cls), ID(1))
                return [(ID(5), 55)]

        asking = type.__new__(Metaclass, "Asking", (), {"__customslots__": Asking()})
        made = make(slots((6, 66)), (asking,))
        check_answers(self, bare(made), slots((5, 55), (6, 66)))


class LettingGo(unittest.TestCase):
    def test_of_the_class_being_read(self):
        """Reading the declaration drops the last reference to the class."""
        def sub():
            return type("S", (Base,), {"__slots__": ()})

        class Meta(Metaclass):
            def __init__(cls, *args):
                pass

            def mro(cls):
                return super().mro() if making else [Base, object]

        class Items(dict):
            def items(self):
                thing.__class__ = other
                return [(ID(5), 55)]

        making, other = True, sub()
        cls = Meta("C", (sub(),), {"__slots__": (), "__customslots__": Items()})
        making = False
        cls.__bases__ = (sub(),)
        thing = Base.__new__(cls)
        del cls
        find(thing, ID(5))
        self.assertIs(type(thing), other)
