"""Compares types that core/types/type_from_metaclass.h makes with types that CPython makes."""

import gc
import itertools
import sys
import unittest

import fromspec_module as fs
from specs import GOOD, DerivedMetaclass, make, plain, layout

DICT = 3  # the index of tp_dictoffset in layout()


class SameAsPlain(unittest.TestCase):
    """Only the metaclass may differ."""

    def pairs(self):
        for kind in GOOD:
            for metaclass in (fs.Metaclass, DerivedMetaclass, type):
                with self.subTest(kind=kind, metaclass=metaclass.__name__):
                    yield make(kind, metaclass), plain(kind), metaclass

    def test_c_struct(self):
        for ours, theirs, metaclass in self.pairs():
            self.assertIs(type(ours), metaclass)
            self.assertEqual(layout(ours), layout(theirs))
            self.assertEqual(fs.slots(ours), fs.slots(theirs))

    def test_dict_and_names(self):
        for ours, theirs, _ in self.pairs():
            self.assertEqual(list(ours.__dict__), list(theirs.__dict__))
            for key, value in theirs.__dict__.items():
                self.assertIs(type(ours.__dict__[key]), type(value), key)
                if key in ("__doc__", "__module__"):
                    self.assertEqual(ours.__dict__[key], value)
            for name in ("__name__", "__qualname__", "__doc__", "__base__", "__bases__",
                         "__dictoffset__", "__weakrefoffset__"):
                self.assertEqual(getattr(ours, name), getattr(theirs, name), name)
            self.assertEqual(ours.__mro__[1:], theirs.__mro__[1:])
            self.assertIs(ours.__mro__[0], ours)
            self.assertIs(fs.module_of(ours), fs)

    def test_member_definitions_are_behind_the_metaclass_data(self):
        for ours, theirs, metaclass in self.pairs():
            where = fs.layout(ours)[-1]
            if fs.layout(theirs)[-1] is None:
                self.assertIsNone(where)
            else:
                self.assertEqual(where, metaclass.__basicsize__)

    def test_every_slot_id(self):
        # Slots 48 and 49 (bases), 56 (doc) and 72 (members) are not functions.
        for slot in sorted(set(range(1, 84)) - {48, 49, 56, 72}):
            with self.subTest(slot=slot):
                try:
                    theirs = fs.one_slot(slot, None)
                except Exception as error:
                    with self.assertRaises(type(error)) as caught:
                        fs.one_slot(slot, fs.Metaclass)
                    text = str(error)
                    if sys.version_info < (3, 12):  # ours names the type and the slot
                        text = "type 'fromspec.one_slot': invalid slot %d" % slot
                    self.assertEqual(str(caught.exception), text)
                    continue
                ours = fs.one_slot(slot, fs.Metaclass)
                self.assertEqual(fs.slots(ours), fs.slots(theirs))
                self.assertEqual(list(ours.__dict__), list(theirs.__dict__))

    def test_bases(self):
        class Plain:
            pass

        class Slotted:
            __slots__ = ("a",)

        class Weak:
            __slots__ = ("__weakref__",)

        class Dict:
            __slots__ = ("__dict__",)

        class Item(int):
            pass

        members, sized, weakdict = plain("members"), plain("sized"), plain("weakdict")
        pool = [object, Plain, Slotted, Weak, Dict, Item, int, list, Exception, OSError, members,
                sized, weakdict, make("members"), make("number"), make("empty"), bool, 5]
        made = mended = 0
        for bases in itertools.chain(*(itertools.product(pool, repeat=n) for n in (1, 2, 3))):
            for kind in ("empty",) if len(bases) == 3 else ("empty", "number", "protocol"):
                if any(type(base) is fs.Metaclass for base in bases):
                    continue  # before 3.12 CPython always uses the metaclass `type`
                try:
                    theirs = plain(kind, bases)
                except TypeError as error:
                    with self.assertRaises(TypeError):
                        make(kind, fs.Metaclass, bases)
                    continue
                ours = make(kind, fs.Metaclass, bases)
                made += 1
                self.assertIs(ours.__base__, theirs.__base__)
                self.assertEqual(ours.__bases__, bases)
                self.assertEqual(ours.__mro__[1:], theirs.__mro__[1:])
                # See PlaceDict.
                expected = list(layout(theirs))
                if expected[DICT] not in (0, theirs.__base__.__dictoffset__):
                    mended += 1
                    expected[DICT] = theirs.__base__.__dictoffset__
                self.assertEqual(list(layout(ours)), expected)
                self.assertEqual(fs.slots(ours), fs.slots(theirs))
        self.assertGreater(mended, 0)
        self.assertGreater(made, 300)
        gc.collect()

    def test_bases_of_our_metaclass(self):
        base, other = make("members"), make("number")
        for bases in (base, (base,), (other, base), (base, list)[:1] + (object,)):
            ours = make("empty", fs.Metaclass, bases)
            self.assertIs(ours.__base__, base)
            self.assertIs(type(ours), fs.Metaclass)
        with self.assertRaisesRegex(TypeError, "lay-out conflict"):
            make("empty", fs.Metaclass, (base, list))

    def test_tp_base_slots(self):
        self.assertEqual(make("list_base").__bases__, (list,))
        self.assertEqual(make("tuple_of_bases").__bases__, (int,))
        self.assertEqual(make("tuple_of_bases", fs.Metaclass, str).__bases__, (str,))
