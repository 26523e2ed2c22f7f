"""Tests tag() and untag() on PyPy."""
import ctypes
import gc
import unittest
import weakref

import support
import typedcall
from accelerated import ON_PYPY
from matrix_properties_threads import overlap
from typedcall import Flags
from typedcall.tools.identity import IdentityTable
from typedcall.pypy import accelerate, restore


class Callable:
    def __call__(self, x):
        return x / 2


class Equal(Callable):
    """A callable. All instances are equal."""

    def __eq__(self, other):
        return isinstance(other, Equal)

    def __hash__(self):
        return 7


class RaisesInHash(Callable):
    def __hash__(self):
        raise LookupError("no hash")


class RaisesInEq(Callable):
    def __eq__(self, other):
        raise LookupError("no comparison")

    def __hash__(self):
        return 7


class WithoutWeakReferences(Callable):
    __slots__ = ()
    __eq__ = Equal.__eq__
    __hash__ = Equal.__hash__


class RaisesInAll(type):
    def __eq__(cls, other):
        raise LookupError("no comparison")

    def __hash__(cls):
        raise LookupError("no hash")


class OfRudeType(Callable, metaclass=RaisesInAll):
    pass


def collect():
    for _ in range(4):
        gc.collect()


@ON_PYPY
class Tag(unittest.TestCase):
    def setUp(self):
        self.plain = support.build("plain_functions")
        self.at = self.plain.addresses
        self.addCleanup(self.untag)

    def untag(self):
        for name in ("inc", "add", "mix", "half"):
            typedcall.untag(getattr(self.plain, name))

    def test_tagged_functions_can_be_accelerated(self):
        boxed = self.plain.half
        typedcall.tag(boxed, "d->d", self.at["half_differs"], flags=Flags.THREAD_SAFE)
        self.addCleanup(setattr, self.plain, "half", boxed)
        self.assertEqual(accelerate(self.plain).accelerated, ["half"])
        self.assertEqual(self.plain.half(2.0), 1001.0)  # the result of the tag's C function
        self.assertEqual(self.plain.half(2), 1.0)
        self.assertEqual(typedcall.signatures(self.plain.half), ["d->d"])
        self.assertTrue(typedcall.untag(self.plain.half))
        self.assertEqual(typedcall.entries(boxed), [])

    def test_functions_that_differ(self):
        half = self.plain.half
        typedcall.tag(half, "d->d", self.at["half_differs"], flags=Flags.DIFFERS)
        with self.assertRaisesRegex(TypeError, "differs from the Python callable"):
            typedcall.resolve(half, "d->d")
        self.assertEqual(typedcall.resolve(half, "d->d", capabilities=Flags.DIFFERS)(2.0), 1001.0)
        self.assertEqual(accelerate(self.plain).accelerated, [])

    def test_what_is_accelerated_has_its_tag(self):
        typed = support.build("typed_functions")
        accelerate(typed)
        self.addCleanup(restore, typed)
        for square in (typed.square, typed.square.__wrapped__):
            with self.assertRaisesRegex(ValueError, "square is tagged already"):
                typedcall.tag(square, "d->d", self.at["half"])

    @support.timing
    def test_one_thread_at_a_time(self):
        # Without THREAD_SAFE, only one thread at a time may call the function.
        entry, = typedcall.entries(support.build("thread_functions").alone)
        for flags in (0, Flags.THREAD_SAFE):
            def alone(milliseconds):
                raise AssertionError("the C function is called")

            typedcall.tag(alone, "l->l", entry.address, flags=flags)
            self.assertEqual(overlap([typedcall.resolve(alone, "l->l")] * 2), bool(flags))

    def test_a_callback_that_takes_the_gil(self):
        made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x + 1)
        for flags in (0, Flags.THREAD_SAFE):
            def f(x):
                return x

            f.__name__ = "\0\ud800"
            typedcall.tag(f, "d->d", ctypes.cast(made, ctypes.c_void_p).value, flags=flags)
            self.assertEqual([typedcall.resolve(f, "d->d")(x) for x in (1.0, 1)], [2.0, 2.0])

    def test_a_pointer_keeps_alive_what_was_tagged_with(self):
        class Pointer(ctypes.c_void_p):
            pass

        half = Callable()
        address = Pointer(self.at["half"])
        typedcall.tag(half, "d->d", address)
        gone = weakref.ref(address)
        pointer = typedcall.resolve(half, "d->d").pointer
        typedcall.untag(half)
        del half, address
        collect()
        self.assertIsNotNone(gone())
        self.assertEqual(pointer(3.0), 1.5)
        del pointer
        collect()
        self.assertIsNone(gone())

    def test_what_an_equal_tag_brings_is_kept(self):
        class Pointer(ctypes.c_void_p):
            pass

        half, other = Callable(), Callable()
        first, second = Pointer(self.at["half"]), Pointer(self.at["half"])
        gone = [weakref.ref(first), weakref.ref(second)]
        for pointer in (first, second, first):
            typedcall.tag(half, "d->d", pointer)
        for _ in range(3):
            typedcall.tag(other, "d->d", half)
        kept = typedcall.entries(other)[0].keep_alive
        typedcall.tag(other, "d->d", half)
        self.assertEqual([len(each) for each in typedcall.entries(other)[0].keep_alive[1:]],
                         [len(each) for each in kept[1:]])
        del half, first, second, pointer, kept
        collect()
        self.assertNotIn(None, [each() for each in gone])
        self.assertEqual(typedcall.resolve(other, "d->d")(3.0), 1.5)
        del other
        collect()
        self.assertEqual([each() for each in gone], [None, None])

    def test_bound_methods(self):
        class Functions:
            def half(self, x):
                return x / 2

        scaler = support.build("typed_functions").Scaler(2.0)
        for bound in (Functions().half, [].append, scaler.scale):
            with self.assertRaisesRegex(TypeError, "its tag would die with it: tag its __func__"):
                typedcall.tag(bound, "d->d", self.at["half"])
            self.assertFalse(typedcall.untag(bound))
        typedcall.tag(Functions().half.__func__, "d->d", self.at["half"])
        self.assertEqual(typedcall.signatures(Functions.half), ["d->d"])

    def test_objects_without_a_hash(self):
        class Function:
            __hash__ = None

            def __call__(self, x):
                return x / 2

        function = Function()
        typedcall.tag(function, "d->d", self.at["half"])
        self.assertEqual(typedcall.resolve(function, "d->d")(3), 1.5)
        self.assertTrue(typedcall.untag(function))
        self.assertFalse(typedcall.untag(function))

    def test_equal_objects_are_not_the_same(self):
        for kind in (Equal, WithoutWeakReferences):
            one, other = kind(), kind()
            typedcall.tag(one, "d->d", self.at["half"])
            self.assertEqual(typedcall.signatures(one), ["d->d"])
            self.assertEqual(typedcall.signatures(other), [])
            self.assertFalse(typedcall.untag(other))
            typedcall.tag(other, "l->l", self.at["inc"])
            self.assertEqual(typedcall.signatures(one), ["d->d"])
            self.assertEqual(typedcall.signatures(other), ["l->l"])
            self.assertTrue(typedcall.untag(one))
            self.assertEqual(typedcall.signatures(one), [])
            self.assertTrue(typedcall.untag(other))

    def test_objects_that_raise_when_compared(self):
        for kind in (RaisesInHash, RaisesInEq, OfRudeType):
            one, other = kind(), kind()
            self.assertEqual(typedcall.signatures(one), [])
            self.assertFalse(typedcall.untag(one))
            typedcall.tag(one, "d->d", self.at["half"])
            self.assertEqual(typedcall.resolve(one, "d->d")(3), 1.5)
            self.assertEqual(typedcall.signatures(other), [])
            self.assertTrue(typedcall.untag(one))
            self.assertFalse(typedcall.untag(one))

    def test_an_id_that_is_used_again(self):
        numbers = set()
        for _ in range(200):
            function = Callable()
            typedcall.tag(function, "d->d", self.at["half"])
            numbers.add(id(function))
        del function
        collect()
        new = [Callable() for _ in range(10000)]
        collect()
        self.assertTrue(all(typedcall.signatures(function) == [] for function in new))

    def test_a_row_whose_object_has_died(self):
        # A new object may have the ID of a dead one before the weak reference's callback has run.
        table = IdentityTable()
        old, new = Callable(), Callable()
        table.put(old, "old")
        stale = table._rows.pop(id(old))
        table._rows[id(new)] = stale
        self.assertIsNone(table.get(new))
        self.assertIsNone(table.pop(new))
        table.put(new, "new")
        del old
        collect()
        self.assertEqual(table.get(new), "new")
        self.assertEqual(table.pop(new), "new")
        table.put(new, "new")
        del new, stale
        collect()
        self.assertEqual(table._rows, {})
