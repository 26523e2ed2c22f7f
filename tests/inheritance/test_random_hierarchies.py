# Tests thousands of random class hierarchies. Every look-up is compared with slot_rule.py.
#
# TYPEDCALL_HIERARCHIES is the number of hierarchies. TYPEDCALL_SEED is the seed of the first one. A
# failure prints its seed. TYPEDCALL_HIERARCHY_SEED repeats a single hierarchy.
import gc
import os
import random
import unittest

import seeds
from slot_ids import ID, SKIP, bare, check_answers
from slot_tools import Metaclass, check, find, make, table
from slot_rule import Rule

HIERARCHIES = int(os.environ.get("TYPEDCALL_HIERARCHIES", 3000))
ONE_SEED = os.environ.get("TYPEDCALL_HIERARCHY_SEED")
IDEAS = range(1, 9)
POINTER_IDS = [0x7000, 0x7f0000001000]


class Reversing(Metaclass):
    """A metaclass with an mro() method."""

    def mro(cls):
        first, *bases, last = super().mro()
        return [first] + bases[::-1] + [last]


class Forgetful(Metaclass):
    def __init__(cls, *args):
        pass


class Hierarchy:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rule = Rule()
        self.types = []    # extensible ones
        # Instances of these types have no dict, because PyType_From* crashes if instances of a base
        # other than the first have one.
        self.others = [object] + [type("P", (), {"__slots__": ()}) for _ in range(2)]
        self.pending = {}  # unresolved type -> own slots
        self.refused = 0
        self.assigned = 0  # how often `__bases__` were

    def slots(self):
        ids = [ID(idea) for idea in IDEAS] + POINTER_IDS
        own = [(slot, self.random.randrange(1, 1 << 62))
               for slot in self.random.sample(ids, self.random.choice((0, 1, 1, 2, 3, 5)))]
        for _ in range(self.random.choice((0, 0, 0, 1, 3))):
            own.insert(self.random.randrange(len(own) + 1), (SKIP, 0))
        return own

    def body(self):
        """Returns random slots and a class body that declares them."""
        space = {"__slots__": ()}
        own = self.slots() if self.random.random() < 0.4 else []
        own = [pair for pair in own if pair[0] != SKIP]
        if own:
            space["__customslots__"] = self.random.choice((list, tuple, dict))(own)
        return own, space

    def bases(self):
        pool = self.types * 3 + self.others
        chosen = []
        for _ in range(self.random.choice((1, 1, 2, 2, 3, 4))):
            base = self.random.choice(pool)
            if base not in chosen:
                chosen.append(base)
        # In this order, most MROs are consistent.
        if self.random.random() < 0.8:
            chosen.sort(key=pool.index, reverse=True)
            chosen.sort(key=lambda base: base is object)
        return tuple(chosen)

    def settle(self, *classes):
        """Resolves types in the library and in the rule."""
        for cls in classes:
            if cls in self.pending:
                check(bare(cls))
                self.rule.add(cls, self.pending.pop(cls))

    def settle_bases(self, bases):
        """Resolves all bases in the rule."""
        for base in bases:
            for cls in base.__mro__[::-1]:
                if cls in self.pending:
                    self.rule.add(cls, self.pending.pop(cls))

    def made(self, cls, own, past=False):
        """Records a class. If __init__ of the metaclass did not run, the class is not resolved."""
        self.types.append(cls)
        if past or isinstance(cls, Forgetful):
            self.pending[cls] = own
            if self.random.random() < 0.5:
                self.settle(cls)
        else:
            self.rule.add(cls, own)

    def assign_bases(self, bases):
        """Changes the bases of a resolved class, whose table stays (1.16). Later subclasses inherit it."""
        candidates = [cls for cls in self.types if cls not in self.pending]
        if not candidates:
            return
        for each in candidates:  # the library may not have resolved all that the rule has
            check(bare(each))
        cls = self.random.choice(candidates)
        # CPython refuses bases that derive from the class.
        bases = tuple(base for base in bases if not issubclass(base, cls))
        if bases:
            try:
                cls.__bases__ = bases
            except TypeError as error:
                if "immutable type" in str(error) or "deallocator" in str(error):
                    return
                raise
            self.assigned += 1

    def step(self):
        bases = self.bases()
        self.settle_bases(bases)
        extensible = any(issubclass(type(base), Metaclass) for base in bases)
        kind = self.random.choice(("spec", "spec", "class", "class", "class", "plain", "past",
                                   "reversing", "forgetful", "bases"))
        try:
            if kind == "spec" or (not self.types and kind == "class"):
                own = self.slots()
                self.types.append(make(own, bases))
                self.rule.add(self.types[-1], own)
            elif kind == "bases":
                self.assign_bases(bases)
            elif kind == "plain" and not extensible:
                self.others.append(type("P", bases, {"__slots__": ()}))
            elif kind == "class":
                own, space = self.body()
                self.made((type if extensible else Metaclass)("C", bases, space), own)
            elif kind == "reversing":
                own, space = self.body()
                self.made(Reversing("R", bases, space), own)
            elif kind == "forgetful":
                own, space = self.body()
                self.made(Forgetful("F", bases, space), own)
            elif kind == "past":
                own, space = self.body()
                self.made(type.__new__(Metaclass, "N", bases, space), own, past=True)
        except TypeError as error:
            words = str(error)
            assert "MRO" in words or "metaclass conflict" in words or "layout" in words, words
            self.refused += 1

    def compare_one(self, test, cls):
        obj = bare(cls)
        expected, found = self.rule.tables[cls], table(obj) or []
        test.assertEqual(found, expected, cls.__mro__)
        check_answers(test, obj, found)
        for slot in [ID(idea) for idea in IDEAS] + POINTER_IDS:
            value = dict(expected).get(slot)
            test.assertEqual(find(obj, slot, self.random.randrange(-2, 12)), value)

    def compare(self, test):
        self.settle(*self.random.sample(list(self.pending), len(self.pending)))
        for cls in self.types:
            child = type("Child", (cls,), {})  # its instances have a dict
            self.rule.add(child)
            for each in (child, cls):
                self.compare_one(test, each)
        for cls in self.others:
            test.assertFalse(check(cls.__new__(cls)))


class RandomHierarchies(unittest.TestCase):
    def one(self, seed):
        hierarchy = Hierarchy(seed)
        try:
            for _ in range(hierarchy.random.randrange(4, 12)):
                hierarchy.step()
            hierarchy.compare(self)
        except BaseException:
            print("TYPEDCALL_HIERARCHY_SEED=%d" % seed)
            raise
        return hierarchy

    def test_all(self):
        first = seeds.seed(0)
        types = refused = several = assigned = 0
        gc.disable()
        try:
            for seed in range(first, first + HIERARCHIES) if ONE_SEED is None else [int(ONE_SEED)]:
                hierarchy = self.one(seed)
                types += len(hierarchy.types)
                refused += hierarchy.refused
                assigned += hierarchy.assigned
                several += sum(len([b for b in cls.__bases__ if issubclass(type(b), Metaclass)]) > 1
                               for cls in hierarchy.types)
                if seed % 200 == 199:
                    gc.collect()
        finally:
            gc.enable()
        if ONE_SEED is None:
            # The generator must make enough hierarchies of each kind.
            self.assertGreater(types, 3 * HIERARCHIES)
            self.assertGreater(several, HIERARCHIES // 2)
            self.assertGreater(assigned, HIERARCHIES // 10)
            self.assertLess(refused, types // 2)
        print("%d types, %d with several extensible bases, %d refused by Python, %d with new bases"
              % (types, several, refused, assigned))


class TheRuleItself(unittest.TestCase):
    """Compares the rule with tables written by hand."""

    def check(self, expected, own, *bases):
        rule = Rule()
        made = []
        for each in bases:
            made.append(make(each))
            rule.add(made[-1], each)
        cls = make(own, tuple(made) or None)
        rule.add(cls, own)
        self.assertEqual(rule.tables[cls], expected)
        self.assertEqual(table(bare(cls)), expected)

    def test_by_hand(self):
        one, two, three = (ID(1), 11), (ID(2), 22), (ID(3), 33)
        skip = (SKIP, 0)
        self.check([], [])
        self.check([skip, one, skip], [skip, one, skip])
        self.check([one], [], [one])
        self.check([skip, one, two], [two], [skip, one])
        self.check([(ID(1), 5), two], [(ID(1), 5)], [one, two])
        self.check([one, two, three], [], [one, two], [(ID(2), 7), three])
        self.check([(ID(2), 7), three, one], [], [(ID(2), 7), three], [one, two])
        self.check([one, two], [skip, skip, two], [one])

    def test_the_first_own_slot_decides(self):
        """The MRO is Z, Y, X, B. Y has an inherited slot, but X has its own."""
        rule = Rule()
        B = make([(ID(1), 6)])
        X, Y = make([(ID(1), 17)], B), make([], B)
        Z = make([], (Y, X))
        for cls, own in ((B, [(ID(1), 6)]), (X, [(ID(1), 17)]), (Y, []), (Z, [])):
            rule.add(cls, own)
        self.assertEqual(rule.tables[Z], [(ID(1), 17)])
        self.assertEqual(table(bare(Z)), [(ID(1), 17)])
