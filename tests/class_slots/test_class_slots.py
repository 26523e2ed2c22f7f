# Tests `__customslots__` in class bodies.
import collections
import dataclasses
import enum
import gc
import sys
import types
import unittest

try:
    import _testcapi
except ImportError:
    _testcapi = None
from collected import only_if
from slot_tools import Metaclass, capsule, capsule_address, find, live_capsules, make, table, touch


def ident(idea, version=0):
    """Returns an ID of the private registrar."""
    return 0x01000001 | idea << 8 | version << 1


A, B, C, D = map(ident, range(1, 5))
SEP_201 = 0x04000001


class Adding(unittest.TestCase):
    def setUp(self):
        self.Base = make({A: 1, B: 2})

    def test_a_mapping_adds_behind_what_is_inherited(self):
        class X(self.Base):
            __customslots__ = {C: 3}

        self.assertEqual(table(X()), [(A, 1), (B, 2), (C, 3)])
        self.assertEqual(table(self.Base()), [(A, 1), (B, 2)])

    def test_an_overridden_slot_keeps_its_position(self):
        class X(self.Base):
            __customslots__ = {B: 20, C: 3}

        self.assertEqual(table(X()), [(A, 1), (B, 20), (C, 3)])

    def test_lists_and_tuples_of_pairs(self):
        for entries in ([(C, 3), (D, 4)], ((C, 3), (D, 4)), [[C, 3], [D, 4]], [(C, 3), [D, 4]]):
            X = Metaclass("X", (self.Base,), {"__customslots__": entries})
            self.assertEqual(table(X()), [(A, 1), (B, 2), (C, 3), (D, 4)])

    def test_other_mappings(self):
        for kind in (collections.OrderedDict, collections.UserDict, types.MappingProxyType):
            X = Metaclass("X", (self.Base,), {"__customslots__": kind({C: 3})})
            self.assertEqual(table(X()), [(A, 1), (B, 2), (C, 3)])

    def test_empty_ones_add_nothing(self):
        for empty in ({}, [], ()):
            X = Metaclass("X", (self.Base,), {"__customslots__": empty})
            self.assertEqual(table(X()), [(A, 1), (B, 2)])

    def test_without_an_extensible_base(self):
        class X(metaclass=Metaclass):
            __customslots__ = {A: 1}

        self.assertEqual(table(X()), [(A, 1)])

    def test_subclasses_inherit_the_slots_and_not_the_declaration(self):
        class X(self.Base):
            __customslots__ = {A: 10}

        class Y(X):
            pass

        class Z(Y):
            __customslots__ = {B: 20}

        self.assertIs(Y.__customslots__, X.__customslots__)
        self.assertEqual(table(Y()), [(A, 10), (B, 2)])
        self.assertEqual(table(Z()), [(A, 10), (B, 20)])

    def test_the_first_in_the_mro_wins(self):
        class Left(self.Base):
            __customslots__ = {C: 3}

        class Right(self.Base):
            __customslots__ = {A: 10, C: 30, D: 40}

        class Both(Left, Right):
            pass

        self.assertEqual(dict(table(Both())), {A: 10, B: 2, C: 3, D: 40})

    def test_flags_offsets_and_ids_of_every_size(self):
        biggest = 2**64 - 1
        class X(metaclass=Metaclass):
            __customslots__ = {A: 0, B: biggest, C: -8, D: -2**63, 0xffffffff: True, 2: 1}

        self.assertEqual(
            dict(table(X())), {A: 0, B: biggest, C: 2**64 - 8, D: 2**63, 0xffffffff: 1, 2: 1})

    def test_int_subclasses(self):
        class Ids(enum.IntEnum):
            FIRST = A

        class X(metaclass=Metaclass):
            __customslots__ = {Ids.FIRST: Ids.FIRST}

        self.assertEqual(table(X()), [(A, A)])

    def test_later_assignments_change_nothing(self):
        declared = {C: 3}
        class X(self.Base):
            __customslots__ = declared

        declared[D] = 4
        self.assertEqual(table(X()), [(A, 1), (B, 2), (C, 3)])
        X.__customslots__ = {D: 4}
        Metaclass.__init__(X, "X", (self.Base,), {"__customslots__": {D: 4}})
        self.assertEqual(table(X()), [(A, 1), (B, 2), (C, 3)])
        del X.__customslots__
        self.assertEqual(table(X()), [(A, 1), (B, 2), (C, 3)])

    def test_seen_in_init_subclass_and_past_tp_init(self):
        seen = []

        class P(self.Base):
            def __init_subclass__(cls):
                seen.append(table(object.__new__(cls)))

        class X(P):
            __customslots__ = {C: 3}

        Y = type.__new__(Metaclass, "Y", (P,), {"__customslots__": [(C, 30)]})
        self.assertEqual(seen, [[(A, 1), (B, 2), (C, 3)], [(A, 1), (B, 2), (C, 30)]])
        self.assertEqual(table(Y()), [(A, 1), (B, 2), (C, 30)])

    @only_if(sys.version_info >= (3, 10))  # for dataclass(slots=True)
    def test_dataclass_with_slots_is_made_twice(self):
        @dataclasses.dataclass(slots=True)
        class X(self.Base):
            __customslots__ = {C: 3}
            x: int = 5

        self.assertEqual(table(X()), [(A, 1), (B, 2), (C, 3)])
        self.assertEqual(X().x, 5)

    def test_ordinary_classes_are_left_alone(self):
        class X:
            __customslots__ = {A: "nonsense"}

        self.assertIsNone(table(X()))


class Pointers(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.before = live_capsules()

    def live(self):
        gc.collect()
        return live_capsules() - self.before

    def test_a_capsule_is_its_pointer(self):
        for name in (None, "some.name", "another/name"):
            c = capsule(name)
            class X(metaclass=Metaclass):
                __customslots__ = {A: c}

            self.assertEqual(find(X(), A), capsule_address(c))
            self.assertEqual(touch(X(), A), 0x5a)

    def test_a_capsule_as_an_id_is_its_address(self):
        c = capsule()
        class X(metaclass=Metaclass):
            __customslots__ = [(c, 5)]

        self.assertEqual(find(X(), capsule_address(c)), 5)

    def test_the_class_keeps_the_capsules(self):
        c = capsule()
        X = Metaclass("X", (), {"__customslots__": [(A, c), (capsule(), c)]})
        del c, X.__customslots__
        self.assertEqual(self.live(), 2)
        self.assertEqual(touch(X(), A), 0x5a)
        del X
        self.assertEqual(self.live(), 0)

    def test_a_subclass_keeps_them_when_its_base_goes(self):
        class Plain(metaclass=Metaclass):
            pass

        class Base(metaclass=Metaclass):
            __customslots__ = {A: capsule()}

        class Same(Base):
            pass

        class More(Base):
            __customslots__ = {B: capsule()}

        class Most(More):
            __customslots__ = {C: capsule()}

        for cls in (Same, More):
            cls.__bases__ = (Plain,)
        del Base.__customslots__, Base
        self.assertEqual(self.live(), 3)
        for cls in (Same, More, Most):
            self.assertEqual(touch(cls(), A), 0x5a)
        self.assertEqual(touch(Most(), B), 0x5a)
        Most.__bases__ = (Plain,)
        del More, Same, cls
        self.assertEqual(self.live(), 3)
        self.assertEqual([touch(Most(), i) for i in (A, B, C)], [0x5a] * 3)
        del Most
        self.assertEqual(self.live(), 0)

    def test_a_diamond_keeps_them_once(self):
        class Base(metaclass=Metaclass):
            __customslots__ = {A: capsule()}

        class Left(Base):
            __customslots__ = {B: capsule()}

        class Right(Base):
            __customslots__ = {C: capsule()}

        class Both(Left, Right):
            __customslots__ = {A: capsule()}

        del Base, Left, Right
        self.assertEqual(self.live(), 4)
        del Both
        self.assertEqual(self.live(), 0)

    def test_refused_classes_keep_nothing(self):
        for entries in ([(A, capsule()), (A, capsule())], [(A, capsule()), (B, None)],
                        [(capsule(), capsule()), 5], [(capsule(), capsule()), (1, 1)]):
            with self.assertRaises((TypeError, ValueError)):
                Metaclass("X", (), {"__customslots__": entries})
        del entries
        self.assertEqual(self.live(), 0)

    def test_thousands_of_classes_keep_nothing(self):
        for _ in range(2000):
            Metaclass("X", (make({A: 1}),), {"__customslots__": {B: capsule()}})
        self.assertEqual(self.live(), 0)


class Refused(unittest.TestCase):
    def check(self, entries, exception, message):
        for bases in ((), (make({A: 1}),)):
            with self.assertRaisesRegex(exception, message):
                Metaclass("Faulty", bases, {"__customslots__": entries})

    def test_what_is_no_mapping_or_list(self):
        for wrong in (5, None, "ab", b"ab", object(), {A}, iter([(A, 1)]), range(3), int):
            self.check(wrong, TypeError, "^type 'Faulty': __customslots__ must be a mapping or a "
                       "list of \\(id, value\\), not '%s'$" % type(wrong).__name__)

    def test_what_is_no_pair(self):
        for wrong in (5, (), (A,), (A, 1, 2), "ab", None):
            self.check([(B, 2), wrong], TypeError, "entry 1: must be a pair")

    def test_ids_of_another_type(self):
        for wrong in (None, "a", 1.0, object()):
            self.check([(wrong, 1)], TypeError, "entry 0: the ID must be an int, or a capsule")

    def test_ids_that_no_slot_can_have(self):
        for wrong in (0, 1, True, False, 2**32 + 1, 2**64 - 1):
            self.check([(wrong, 1)], ValueError, "entry 0: this is not a valid slot ID")
        for wrong in (-1, -2, 2**64, 10**100):
            self.check([(wrong, 1)], ValueError, "entry 0: the ID is out of range")

    def test_values_of_another_type(self):
        for wrong in (None, "a", 1.0, object(), [1]):
            self.check({A: wrong}, TypeError, "entry 0: the value must be a capsule .* or an int")

    def test_values_that_fit_no_word(self):
        for wrong in (2**64, -2**63 - 1, 10**100):
            self.check({A: wrong}, ValueError, "entry 0: the value does not fit a machine word")

    def test_an_id_twice(self):
        self.check([(B, 1), (B, 1)], ValueError, "custom slot 1 has ID 0x1000201, which occurs twice")

    def test_the_native_callable_slot(self):
        # Consumers would follow any pointer at this offset.
        for value in (16, capsule()):
            self.check({SEP_201: value}, ValueError, "only C code can vouch for")

    def test_mappings_that_raise(self):
        class Faulty(collections.UserDict):
            def items(self):
                raise KeyError("mine")

        self.check(Faulty(), KeyError, "mine")

        class Missing(dict):
            def items(self):
                return self.no_such_attribute

        self.check(Missing(), AttributeError, "no_such_attribute")

    def test_classes_that_come_past_tp_init_offer_nothing(self):
        X = type.__new__(Metaclass, "X", (make({A: 1}),), {"__customslots__": 5})
        self.assertIsNone(table(X()))
        self.assertIsNone(find(X(), A))
        with self.assertRaises(TypeError):
            Metaclass.__init__(X, "X", (), {})

    @only_if(_testcapi)
    def test_memory_errors_leave_nothing_behind(self):
        Base = make({A: 1})
        gc.collect()
        before = live_capsules()
        # More slots than the merging code keeps on the stack.
        more = {C + 0x100 * i: capsule() for i in range(1, 21)}
        body = {"__customslots__": {B: capsule(), C: capsule(), **more}}
        failures = 0
        for start in range(1, 1000):
            # A class statement would leak, because CPython's type.__new__ leaks when memory runs
            # out.
            X = type.__new__(Metaclass, "X", (Base,), dict(body))
            arguments = (X, "X", (Base,), {})
            _testcapi.set_nomemory(start, start + 1)
            try:
                Metaclass.__init__(*arguments)
            except MemoryError:
                failures += 1
                continue
            finally:
                _testcapi.remove_mem_hooks()
            break
        self.assertGreater(failures, 5)
        self.assertEqual(len(table(X())), 3 + len(more))
        del X, arguments, body, more
        gc.collect()
        self.assertEqual(live_capsules(), before)


class Reentrant(unittest.TestCase):
    def test_a_mapping_that_looks_the_class_up(self):
        """A look-up on a class finds no slots while the declaration of the class is being read."""
        classes = []

        class Asking(collections.UserDict):
            reads = 0

            def items(self):
                Asking.reads += 1
                if classes and Asking.reads < 4:
                    assert find(object.__new__(classes[0]), A) is None
                return super().items()

        class Base(metaclass=Metaclass):
            def __init_subclass__(cls):
                classes.append(cls)

        X = Metaclass("X", (Base,), {"__customslots__": Asking({A: 1})})
        self.assertEqual(table(X()), [(A, 1)])
        self.assertEqual(Asking.reads, 1)

    def test_a_mapping_that_looks_the_class_up_twice_and_fails(self):
        """The declaration must not be read again, because each level would double the time."""
        classes = []

        class Asking(collections.UserDict):
            reads = 0

            def items(self):
                Asking.reads += 1
                if Asking.reads > 100:
                    raise SystemError("without end")
                for _ in classes * 2:
                    find(object.__new__(classes[0]), A)
                raise ValueError("no items")

        class Base(metaclass=Metaclass):
            def __init_subclass__(cls):
                classes.append(cls)

        with self.assertRaisesRegex(ValueError, "no items"):
            Metaclass("X", (Base,), {"__customslots__": Asking({A: 1})})
        self.assertLess(Asking.reads, 10)

    def test_without_end(self):
        classes = []

        class Asking(collections.UserDict):
            def items(self):
                if classes:
                    find(object.__new__(classes[0]), A)
                return super().items()

        class Base(metaclass=Metaclass):
            def __init_subclass__(cls):
                classes.append(cls)

        X = Metaclass("X", (Base,), {"__customslots__": Asking({A: 1})})
        self.assertEqual(table(X()), [(A, 1)])

    def test_a_finalizer_that_looks_the_class_up(self):
        gc.collect()
        old = gc.get_threshold()
        found = []
        classes = []

        class Cycle:
            def __init__(self):
                self.me = self

            def __del__(self):
                if classes:
                    found.append(find(object.__new__(classes[-1]), A))

        class Base(metaclass=Metaclass):
            def __init_subclass__(cls):
                classes.append(cls)

        gc.set_threshold(1, 1, 1)
        try:
            for _ in range(50):
                Cycle()
                Metaclass("X", (Base,), {"__customslots__": [(A, 7), (B, 8), (C, 9)]})
        finally:
            gc.set_threshold(*old)
        # Free-threaded builds only collect garbage between Python instructions.
        if getattr(sys, "_is_gil_enabled", lambda: True)():
            self.assertTrue(found)
        self.assertLessEqual(set(found), {7})
