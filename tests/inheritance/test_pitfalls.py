# Known pitfalls with types, each with its test. Names without a file are tests in this file; names
# after a .cc file are GoogleTest cases.
#
# SEP 200
#   layout of slot and type                     tests/abi/abi_assertions.h
#   module and attribute                        tests/core/rendezvous_test.cc WhatStandsInTheModule
#   wrong pointer after a size mismatch         tests/core/rendezvous_test.cc TooSmall
#   registrar, idea, version, special IDs       tests/core/slot_id_test.cc;
#                                               special_ids_and_positions
#   Find for 0 and 1, any expected position     special_ids_and_positions
#   C subclassing: same ID in the child wins    tests/core/from_spec_test.cc
#                                               ChildKeepsItsBasesPositions
#   static C subclassing, no room               tests/static_types/static_types_test.cc Inheriting
# SEP 201                                       tests/resolve/instance_test.cc
# METH_TYPED in PyPy                            tests/typed_method/, tests/resolve/places_test.cc
# tp_flags
#   bit 22 is _Py_TPFLAGS_MATCH_SELF            objects_with_bit_22, no_flag_is_set
#   sizeof(PyHeapTypeObject)                    tests/abi/abi_assertions.h; test_memory.py
#
# Seen elsewhere
#   Check(5) with the reference header          objects_with_bit_22
#   `match` semantics change                    match_statement
#   class D(Plain, Ext): slots vanish           plain_base_first (and test_every_way.py)
#   class G(Generic[T], Ext)                    generic_first
#   Meta("X", (object,), {}): out of bounds     metaclass_called_on_object
#   a custom tp_new breaks PyType_From*         no_tp_new
#   ABCMeta/Enum/Protocol: metaclass conflict   metaclass_conflicts
#   fields uninitialised without tp_init        fields_without_tp_init
#   static type posing as a heap type           specialised_subscripts_after_type_modified;
#                                               tests/static_types/static_types_test.cc
#   free threading: write before publishing     publication_test.cc (TSan), bases_threads_test.cc
#   subinterpreters: static types share state   tests/rendezvous/test_interpreters.py
#   capsule names by string                     tests/core/rendezvous_test.cc CapsuleWithAnotherName
#   functions of another library misread        tests/resolve/places_test.cc OtherObjects
#   a symbol found by name is the wrong one     tests/c_provider/sibling_test.cc
#   sentinels overlap real results              tests/provider/test_errors.py, tests/resolve/
# Reproduced before this was written
#   walking tp_mro without the GIL              bases_threads_test.cc
#   look-up inside __init_subclass__            test_class_life.py WhileItIsMade.test_init_subclass
#   Meta.__init__ called again                  test_class_life.py test_init_called_a_second_time
#   a metaclass whose __init__ forgets super    test_class_life.py MetaclassesThatForget
#   pybind11's and nanobind's defs              tests/core/owner_test.cc
#                                               AddressesAreUsedAgain, Kept...
#   RTLD_LOCAL modules share no statics         tests/core/test_providers.py, tests/rendezvous/
#   [].append and list.append, METH_METHOD      tests/resolve/places_test.cc, tests/tag/
#   loading 8 bytes of a 5-byte signature       tests/signature/memory_test.cc
#   narrow results, function-type sanitiser     tests/ffi/ffi_codes_test.cc NarrowResults
#   an abi3 provider on later CPythons          tests/abi3/
import abc
import enum
import gc
import sys
import typing
import unittest
import warnings

from collected import only_if
import foreign_classes as foreign
from slot_ids import ID, SKIP, bare, check_answers, slots
from slot_tools import Metaclass, check, count, find, make, table

Base = make(slots((1, 11), (2, 22)))
BASE = slots((1, 11), (2, 22))
T = typing.TypeVar("T")
MATCH_SELF = 1 << 22
since_310 = only_if(sys.version_info >= (3, 10))  # 3.10 added match and the flag

# The types of these objects have the flag.
MATCHED_BY_THEMSELVES = [5, True, 1.5, "text", b"bytes", bytearray(), (), [], {}, set(),
                         frozenset()]


class TheFlagBit(unittest.TestCase):
    def test_objects_with_bit_22(self):
        self.assertFalse(check(5))
        for obj in MATCHED_BY_THEMSELVES:
            kinds = [obj]
            if type(obj) is not bool:
                sub = type("Sub", (type(obj),), {})
                kinds += [sub(obj), type("SubSub", (sub,), {"__slots__": ()})(obj)]
            for each in kinds:
                if sys.version_info >= (3, 10):
                    self.assertTrue(type(each).__flags__ & MATCH_SELF)
                check_answers(self, each, None)
                self.assertIsNone(find(each, ID(1), 1 << 40))
                self.assertEqual(count(each), 0)

    def test_no_flag_is_set(self):
        def flags(cls):
            return cls.__flags__ & ~(1 << 19)  # the version tag may change at any time

        plain = foreign.by_spec((object,))
        self.assertEqual(flags(Base), flags(plain))
        self.assertEqual(flags(type("C", (Base,), {})), flags(type("C", (plain,), {})))
        # In 3.11 only immutable types inherit the flag "has vectorcall".
        more = flags(Metaclass) & ~flags(type("M", (type,), {}))
        self.assertEqual(more & ~(1 << 8 | 1 << 11), 0)
        self.assertFalse(Base.__flags__ & MATCH_SELF)

    @since_310
    def test_match_statement(self):
        class Number(int, Base):
            pass

        class Pair(Base):
            __match_args__ = ("a", "b")

            def __init__(self, a, b):
                self.a, self.b = a, b

        space = dict(Number=Number, Pair=Pair, Base=Base)
        exec("def take(obj):\n"
             "    match obj:\n"
             "        case Number(n): return 'number', n\n"
             "        case Pair(a, b): return 'pair', a, b\n"
             "        case Base(): return 'base'\n"
             "def itself(obj):\n"
             "    match obj:\n"
             "        case Base(x): return x\n", space)
        self.assertEqual(space["take"](Number(5)), ("number", 5))
        self.assertEqual(space["take"](Pair(1, 2)), ("pair", 1, 2))
        self.assertEqual(space["take"](Base()), "base")
        with self.assertRaisesRegex(TypeError, "positional sub-pattern"):
            space["itself"](Base())
        check_answers(self, Number(5), BASE)
        check_answers(self, Pair(1, 2), BASE)

    def test_special_ids_and_positions(self):
        obj = make(slots(None, (1, 11), None))()
        check_answers(self, obj, slots(None, (1, 11), None))
        for position in (-1 << 63, -1, 0, 1, 2, 3, 1 << 40, (1 << 63) - 1):
            for special in (0, SKIP):
                self.assertIsNone(find(obj, special, position))
            self.assertEqual(find(obj, ID(1), position), 11)


class Bases(unittest.TestCase):
    def test_plain_base_first(self):
        class Plain:
            def __init__(self):
                self.x = 5

        class D(Plain, Base):
            pass

        self.assertIs(D.__base__, Plain)  # tp_base has no slots
        check_answers(self, D(), BASE)

    def test_generic_first(self):
        class G(typing.Generic[T], Base):
            pass

        class H(G[int]):
            pass

        for cls in (G, H, G[str]):
            check_answers(self, cls(), BASE)

    def test_metaclass_called_on_object(self):
        # ASan detects reads beyond the static type `object`.
        for bases in ((object,), (), (int,), (Exception,), (type,)):
            cls = type(Base)("X", bases, {})
            check_answers(self, bare(cls) if bases != (type,) else cls("Y", (), {}), [])

    def test_metaclass_conflicts(self):
        class Abstract(abc.ABC):
            pass

        class Closes(typing.Protocol):
            def close(self):
                pass

        class Colour(enum.Enum):
            pass

        for other in (Abstract, Closes, Colour):
            for bases in ((other, Base), (Base, other)):
                with self.assertRaisesRegex(TypeError, "metaclass conflict"):
                    type("C", bases, {})
            for parents in ((type(other), Metaclass), (Metaclass, type(other))):
                meta = type("Meta", parents, {})
                if other is not Colour:
                    for bases in ((other, Base), (Base, other)):
                        check_answers(self, meta("C", bases, {})(), BASE)

    def test_no_tp_new(self):
        self.assertNotIn("__new__", vars(Metaclass))
        self.assertIs(Metaclass.__new__, type.__new__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # 3.12 warns about metaclasses with a tp_new
            check_answers(self, make(slots((3, 33)), (Base,))(), BASE + slots((3, 33)))
            cls = foreign.by_spec((Base,))
        if sys.version_info >= (3, 12):
            check_answers(self, bare(cls), BASE)


class Fields(unittest.TestCase):
    def test_fields_without_tp_init(self):
        for _ in range(100):  # so that used memory is allocated again
            foreign.by_type_new(Metaclass, (Base,))
            looked_at = foreign.by_type_new(Metaclass, (Base,))
            check_answers(self, bare(looked_at), BASE)
            failed = foreign.by_type_new(Metaclass, ())
            self.assertEqual((check(bare(failed)), table(bare(failed))), (True, []))
        del looked_at, failed
        gc.collect()

    def test_specialised_subscripts_after_type_modified(self):
        class C(Base):
            def __getitem__(self, key):
                return key

        obj = C()
        for turn in range(3):
            for _ in range(200):
                result = obj["key"]
            self.assertEqual(result, "key" * (turn + 1))
            C.__getitem__ = lambda self, key, turn=turn: key * (turn + 2)
            Base.attribute = turn
        self.assertEqual(C.attribute, 2)
        del Base.attribute
        check_answers(self, obj, BASE)
