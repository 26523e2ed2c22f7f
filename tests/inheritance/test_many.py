# Tests many types in each other's MROs, and tables with many slots. A quadratic algorithm would
# take far too long.
import ctypes
import gc
import itertools
import signal
import threading
import unittest

from slot_ids import ID, bare, slots
from slot_tools import Metaclass, find, make, table

Base = make(slots((1, 11)))
MANY = 100000


class Forgetful(Metaclass):
    def __init__(cls, *args):
        pass


def resolve(cls):
    """Resolves a class. Unlike a look-up, this can raise an exception."""
    Metaclass.__init__(cls, cls.__name__, (), {})


class Counting(dict):
    """A declaration that counts how often it is read."""
    def __init__(self, *args):
        super().__init__(*args)
        self.count = 0

    def items(self):
        self.count += 1
        return super().items()


def in_each_others_mro(count, others_of):
    """Returns unresolved classes. others_of(i) returns the indices of the other classes in the MRO
    of class i."""
    others = {}

    class Mutual(Metaclass):
        def __init__(cls, *args):
            pass

        def mro(cls):
            return [cls] + others.get(cls, []) + [Base, object]

    Mutual.others = others

    def plain_base():
        return type("P", (Base,), {"__slots__": ()})

    classes = [Mutual("C%d" % i, (plain_base(),),
                      {"__slots__": (), "__customslots__": Changing({ID(100 + i): i})})
               for i in range(count)]
    for i, cls in enumerate(classes):
        others[cls] = [classes[j] for j in others_of(i)]
        cls.__bases__ = (plain_base(),)
    return classes


def change_when_read(classes, read, changed, others):
    """Changes the MRO of one class while the declaration of another class is read."""
    def change():
        cls = classes[changed]
        type(cls).others[cls] = [classes[i] for i in others]
        cls.__bases__ = (type("P", (Base,), {"__slots__": ()}),)

    classes[read].__dict__["__customslots__"].change = change


class Changing(Counting):
    """A declaration that runs code when it is read."""

    change = staticmethod(lambda: None)

    def items(self):
        self.change()
        return super().items()


def reads(classes):
    return [cls.__dict__["__customslots__"].count for cls in classes]


class EachOther(unittest.TestCase):
    def check_settled(self, classes):
        self.assertEqual(reads(classes), [1] * len(classes))
        for i, cls in enumerate(classes):
            self.assertEqual(find(bare(cls), ID(1)), 11)
            self.assertEqual(find(bare(cls), ID(100 + i)), i)
        self.assertEqual(reads(classes), [1] * len(classes), "one look settled all of them")

    def test_all_in_the_mro_of_all(self):
        for count in (2, 3, 9, 100):
            classes = in_each_others_mro(count, lambda i: [j for j in range(count) if j != i])
            found = dict(table(bare(classes[0])))
            self.assertEqual(found, dict(slots((1, 11), *((100 + i, i) for i in range(count)))))
            self.check_settled(classes)

    def test_who_has_been_looked_at_gets_another_base_meanwhile(self):
        classes = in_each_others_mro(5, lambda i: [[3, 1], [2], [0], [], []][i])
        change_when_read(classes, read=3, changed=2, others=[0, 4])
        self.check_bring(classes, 0, (0, 1, 2, 3, 4))
        self.check_bring(classes, 2, (2, 4))
        self.assertEqual(reads(classes), [1] * 5)

    def test_who_has_been_looked_at_gets_a_base_on_the_way_meanwhile(self):
        classes = in_each_others_mro(4, lambda i: [[1], [3, 2], [1], []][i])
        change_when_read(classes, read=3, changed=2, others=[1, 0])
        self.check_bring(classes, 0, (0, 1, 2, 3))
        self.check_bring(classes, 1, (1, 2, 3))
        self.check_bring(classes, 2, (2,))
        self.assertEqual(reads(classes), [1] * 4)

    def check_bring(self, classes, at, numbers):
        for i in numbers:
            self.assertEqual(find(bare(classes[at]), ID(100 + i)), i)

    def test_a_ring(self):
        count = 3000
        classes = in_each_others_mro(count, lambda i: [(i + 1) % count])
        self.assertEqual(find(bare(classes[7]), ID(107)), 7)
        self.check_settled(classes)

    def test_a_chain_that_mro_does_not_show(self):
        """The MRO of each class only contains the class and the next one."""
        count = 3000
        classes = in_each_others_mro(count, lambda i: [i + 1] if i + 1 < count else [])
        found = dict(table(bare(classes[0])))
        self.assertEqual(found, dict(slots((1, 11), *((100 + i, i) for i in range(count)))))
        self.check_settled(classes)

    def test_who_derives_from_such_types_has_what_all_bring(self):
        classes = in_each_others_mro(4, lambda i: [[1, 2], [2], [1, 3], []][i])
        found = dict(table(bare(classes[0])))
        self.assertEqual(found, dict(slots((1, 11), (100, 0), (101, 1), (102, 2), (103, 3))))
        self.check_settled(classes)

    def test_two_rings_with_a_bridge(self):
        bridge = [[1, 3], [2], [0], [4], [5], [3]]
        for first in range(6):
            classes = in_each_others_mro(6, bridge.__getitem__)
            self.assertEqual(find(bare(classes[first]), ID(100 + first)), first)
            for cls in classes:
                table(bare(cls))
            self.check_settled(classes)
            self.assertEqual(find(bare(classes[0]), ID(103)), 3)
            self.assertIsNone(find(bare(classes[3]), ID(100)))

    def test_a_faulty_one_leaves_the_others(self):
        classes = in_each_others_mro(5, lambda i: [j for j in range(5) if j != i])
        classes[2].__dict__["__customslots__"]["no ID"] = 5
        for _ in range(3):
            with self.assertRaisesRegex(TypeError, "type 'C2': .* the ID must be an int"):
                resolve(classes[0])
        self.assertIsNone(table(bare(classes[0])))
        del classes[2].__dict__["__customslots__"]["no ID"]
        self.assertEqual(find(bare(classes[0]), ID(102)), 2)

    def test_bases_assigned_meanwhile(self):
        """Reading the declaration assigns `__bases__` of the class."""
        class Assigning(Counting):
            def items(self):
                child.__bases__ = (other,)
                return super().items()

        def late(name, declared):
            return Forgetful(name, (Base,), {"__slots__": (), "__customslots__": declared})

        first = late("First", Assigning({ID(2): 22}))
        other = late("Other", Counting({ID(3): 33}))
        child = Forgetful("Child", (first,), {"__slots__": ()})
        self.assertEqual(dict(table(bare(child))), dict(slots((1, 11), (3, 33))))
        self.assertEqual(reads([first, other]), [1, 1])


class Interrupted(unittest.TestCase):
    """A signal during the look-up leaves the remaining bases unresolved."""
    def setUp(self):
        if threading.current_thread() is not threading.main_thread():
            self.skipTest("signals come to the main thread only")
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, previous)
        interrupt = self.interrupt = getattr(ctypes.CDLL(None), "raise")

        class Interrupting(dict):
            def items(self):
                come = filter(None, map(interrupt, [signal.SIGINT]))
                return itertools.chain(come, [(ID(2), 22)])

        self.first, self.second = Counting({ID(3): 33}), Counting({ID(4): 44})
        cls = Base
        for declared in (Interrupting(), self.first, self.second):
            cls = Forgetful("C", (cls,), {"__customslots__": declared})
        self.late = cls

    def test_what_may_raise(self):
        with self.assertRaises(KeyboardInterrupt):
            resolve(self.late)
        self.assertEqual((self.first.count, self.second.count), (0, 1))

    def test_a_look_up_does_not_lose_it(self):
        obj, raised = bare(self.late), False
        try:
            find(obj, ID(2))
            for _ in range(100):
                gc.isenabled()
        except KeyboardInterrupt:
            raised = True
        self.assertTrue(raised)
        self.assertEqual(self.first.count, 0)

    def test_the_entries_of_one_declaration(self):
        class Interrupting(dict):
            def items(self):
                come = filter(None, map(interrupt, [signal.SIGINT]))
                return itertools.chain(come, [(2 * i, i) for i in range(1, 10000)], ["no pair"])

        interrupt = self.interrupt
        with self.assertRaises(KeyboardInterrupt):
            Metaclass("Child", (Base,), {"__customslots__": Interrupting()})


class ManySlots(unittest.TestCase):
    def setUp(self):
        self.ids = [2 * i for i in range(1, MANY + 1)]

    def make(self, bases, entries):
        return Metaclass("Many", bases, {"__customslots__": entries})

    def test_in_a_class_body(self):
        cls = self.make((Base,), [(i, i + 1) for i in self.ids])
        for at in (0, 1, MANY // 2, MANY - 1):
            self.assertEqual(find(bare(cls), self.ids[at], at + 1), self.ids[at] + 1)
        with self.assertRaisesRegex(ValueError, "slot %d has ID 0x2, which occurs twice" % MANY):
            self.make((Base,), [(i, 0) for i in self.ids + [2]])

    def test_inherited_and_overridden(self):
        left = self.make((Base,), {i: 1 for i in self.ids})
        right = self.make((Base,), {i + 2 * (MANY // 2): 2 for i in self.ids})
        both = self.make((left, right), {i: 3 for i in self.ids[::2]})
        found = table(bare(both))
        self.assertEqual(len(found), 1 + MANY + MANY // 2)
        self.assertEqual([data for _, data in found[1:5]], [3, 1, 3, 1])
        self.assertEqual([data for _, data in found[MANY + 1:]], [2] * (MANY // 2))
        self.assertEqual(found, table(bare(type("Below", (both,), {}))))

    def test_ids_that_are_far_apart(self):
        for step in (2, 1 << 12, 1 << 32, 1 << 46, 0x9e3779b97f4a7c16):
            ids = {(i * step & (1 << 64) - 2) or 2 for i in range(1, 60000)}
            cls = self.make((Base,), dict.fromkeys(ids, 5))
            self.assertEqual(len(table(bare(cls))), len(ids) + 1)
