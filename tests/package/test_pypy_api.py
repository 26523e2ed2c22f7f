"""signatures, entries, resolve, tag and untag on PyPy, where calls go through cffi and the GIL is
not held in them."""
import copy
import ctypes
import gc
import pickle
import sys
import unittest
import weakref

import support
import typedcall
from accelerated import ON_PYPY, Accelerated, Index, Real, outcome
from typedcall import Flags
from typedcall._identity import IdentityTable
from typedcall.pypy import accelerate, restore

SIMPLE = Flags.PURE | Flags.THREAD_SAFE | Flags.SHORT

# Those of functions of doubles come from Python's own float().
_OVERFLOWS = [(OverflowError, name) for name in ("inc", "next_char", "next_byte", "next_size")]


class RealText(str):
    def __float__(self):
        return 2.5


class Callable:
    def __call__(self, x):
        return x / 2


class Equal(Callable):
    """All of its instances are equal."""

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
class Entries(Accelerated):
    def test_of_an_original_and_of_its_accelerated_function(self):
        for function in (self.boxed["inc"], self.functions.inc):
            (entry,) = typedcall.entries(function)
            self.assertEqual((entry.signature, entry.flags, entry.place),
                             ("l->l", SIMPLE, "method metadata"))
            self.assertIs(entry.keep_alive, self.boxed["inc"])
        self.assertEqual(typedcall.signatures(self.functions.absolute), ["l->l", "d->d"])
        self.assertEqual(typedcall.signatures(self.functions.div), ["dd->d"])
        self.assertEqual(typedcall.signatures(self.functions.Scaler.scale), ["d->d"])
        self.assertEqual(typedcall.signatures(self.functions.Scaler(2.0).scale), ["d->d"])

    def test_none(self):
        for nothing in (len, print, lambda x: x, 5, None, "text", int, object(), [].append, sys):
            self.assertEqual(typedcall.entries(nothing), [])
            self.assertEqual(typedcall.signatures(nothing), [])
            self.assertEqual(typedcall.adopt(nothing), [])


@ON_PYPY
class Resolve(Accelerated):
    def test_what_it_says(self):
        for given in (self.boxed["inc"], self.functions.inc):
            f = typedcall.resolve(given, "l->l")
            self.assertIsInstance(f, typedcall.TypedFunction)
            (entry,) = typedcall.entries(given)
            self.assertEqual((f.signature, f.flags, f.address, f.place),
                             ("l->l", SIMPLE, entry.address, "method metadata"))
            self.assertIs(f.callable, given)
            self.assertEqual(f.__name__, "inc")
            self.assertIn("inc 'l->l'", repr(f))
            self.assertEqual(f.pointer(41), 42)

    def test_calls_do_not_go_through_the_wrapper(self):
        f = typedcall.resolve(self.counting.mix, "dldl->d")
        self.assertEqual(f(1.5, 2, 2.5, 3), 10.5)
        self.assertEqual(self.calls(f, 1.5, 2, 2.5, 3), (1, 0))
        self.assertEqual(self.calls(f, 1, True, Real(), Index()), (1, 0))
        self.assertEqual(self.calls(f.pointer, 1.5, 2, 2.5, 3), (1, 0))

    def test_conversions_are_the_wrapper_s(self):
        # PyFloat_AsDouble takes Index() on PyPy 8.0, and not before.
        values = (0, 1, -1, 127, 128, 255, 256, 2**63 - 1, 2**63, 2**64, 10**400, True, 0.0, -0.0,
                  1.5, float("inf"), None, "1", b"1", memoryview(b"1"), [], Index(), Real(),
                  RealText("3"))
        for name in ("inc", "half", "half_float", "negate", "next_char", "next_byte", "next_size"):
            boxed = self.boxed[name]
            f = typedcall.resolve(boxed, typedcall.signatures(boxed)[0])
            for value in values:
                mine, its = outcome(f, (value,)), outcome(boxed, (value,))
                self.assertEqual(mine[0], its[0], (name, value))
                if mine[0] in (int, float, bool) or (mine[0], name) in _OVERFLOWS:
                    self.assertEqual(mine[1], its[1], (name, value))
            for count in (0, 2, 3):
                self.assertEqual(outcome(f, (1,) * count)[0], TypeError)
                self.assertIn("(%d given)" % count, outcome(f, (1,) * count)[1])
            with self.assertRaisesRegex(TypeError, "takes no keyword arguments"):
                f(x=1)

    def test_equivalent_and_exact(self):
        for text in ("q->q", "n->l", "l->q"):
            f = typedcall.resolve(self.functions.inc, text)
            self.assertEqual((f.signature, f(1)), ("l->l", 2))
            with self.assertRaisesRegex(TypeError, "it offers 'l->l'"):
                typedcall.resolve(self.functions.inc, text, casting="exact")
        self.assertEqual(repr(typedcall.resolve(self.functions.absolute, "d->d")(-3)), "3.0")
        with self.assertRaises(TypeError):
            typedcall.resolve(self.functions.inc, "i->i", casting="safe")

    def test_what_a_cffi_call_cannot_do(self):
        scale = self.functions.Scaler(2.0).scale
        for function, signature, reason in (
            (self.functions.div, "dd->d", "needs the GIL, may raise"),
            (self.functions.invert, "d&d->i", "returns a status"),
            (scale, "d->d", "takes self"),
            (self.functions.turn, "Zd->Zd", "Complex"),
            (self.functions.same_text, "s->s", r"const char \*"),
            (self.functions.same_object, "O->O", "needs the GIL, may raise"),
        ):
            with self.assertRaisesRegex(TypeError, "(?i)does not offer .*" + reason):
                typedcall.resolve(function, signature)

    def test_capabilities_are_for_the_address(self):
        both = Flags.MAY_RAISE | Flags.NEEDS_THREAD
        with self.assertRaisesRegex(TypeError, r"\(may raise\)"):
            typedcall.resolve(self.functions.div, "dd->d", capabilities=Flags.NEEDS_THREAD)
        f = typedcall.resolve(self.functions.div, "dd->d", capabilities=both)
        self.assertEqual(f.address, typedcall.entries(self.functions.div)[0].address)
        self.assertIsNone(f.pointer)
        with self.assertRaisesRegex(TypeError, "can only be called boxed"):
            f(1.0, 0.0)
        self.assertEqual(typedcall.resolve(self.functions.inc, "l->l", capabilities=0)(1), 2)

    def test_refusals(self):
        inc = self.functions.inc
        with self.assertRaisesRegex(TypeError, "absolute does not offer 'i->i'; it offers 'l->l', "
                                               "'d->d'"):
            typedcall.resolve(self.functions.absolute, "i->i")
        # Also why the others would not do.
        with self.assertRaisesRegex(TypeError, r"it offers 'dd->d' \(needs the GIL, may raise\)"):
            typedcall.resolve(self.functions.div, "d->d")
        with self.assertRaisesRegex(TypeError, "nobody has tagged it"):
            typedcall.resolve(len, "O->n")
        with self.assertRaisesRegex(TypeError, "is not callable"):
            typedcall.resolve(5, "d->d")
        with self.assertRaisesRegex(ValueError, "not 'unsafe'"):
            typedcall.resolve(inc, "l->l", casting="unsafe")
        for text, position in (("", 0), ("d", 1), ("d->", 3), ("x->d", 0)):
            with self.assertRaisesRegex(ValueError, "position %d:" % position):
                typedcall.resolve(inc, text)

    def test_pickle_and_copy(self):
        asked_for = typedcall.resolve(self.functions.inc, "q->q")
        self.assertEqual(asked_for.__reduce__()[1],
                         (self.functions.inc, "q->q", int(asked_for.flags), "equivalent"))
        f = typedcall.resolve(self.functions.inc, "l->l")
        for again in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
            self.assertEqual((again.signature, again.address, again(4)), ("l->l", f.address, 5))
        self.assertNotIn(b"%d" % f.address, pickle.dumps(f, 0))


@ON_PYPY
class Tag(unittest.TestCase):
    def setUp(self):
        self.plain = support.build("plain_functions")
        self.at = self.plain.addresses
        self.addCleanup(self.untag)

    def untag(self):
        for name in ("inc", "add", "mix", "half"):
            typedcall.untag(getattr(self.plain, name))

    def test_by_an_int(self):
        for name, signature, args in (("inc", "l->l", (41,)), ("add", "dd->d", (1.5, 2.0)),
                                      ("mix", "dldl->d", (1.5, 2, 3.5, 4))):
            function = getattr(self.plain, name)
            self.assertEqual(typedcall.entries(function), [])
            typedcall.tag(function, signature, self.at[name], flags=Flags.PURE)
            (entry,) = typedcall.entries(function)
            self.assertEqual((entry.signature, entry.flags, entry.address, entry.place),
                             (signature, Flags.PURE, self.at[name], "object row"))
            self.assertEqual(typedcall.resolve(function, signature)(*args), function(*args))
            self.assertTrue(typedcall.untag(function))
            self.assertFalse(typedcall.untag(function))
            self.assertEqual(typedcall.entries(function), [])

    def test_tagged_functions_can_be_accelerated(self):
        boxed = self.plain.half
        typedcall.tag(boxed, "d->d", self.at["half_differs"])
        self.addCleanup(setattr, self.plain, "half", boxed)
        self.assertEqual(accelerate(self.plain).accelerated, ["half"])
        self.assertEqual(self.plain.half(2.0), 1001.0)  # where the tag leads
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

    def test_same_and_other_tags(self):
        half = self.plain.half
        typedcall.tag(half, "d->d", self.at["half"])
        typedcall.tag(half, "d->d", self.at["half"])
        self.assertEqual(len(typedcall.entries(half)), 1)
        for address, flags in ((self.at["half_differs"], 0), (self.at["half"], Flags.PURE)):
            with self.assertRaisesRegex(
                ValueError,
                "half is tagged already: 'd->d' at %#x, flags 0 .*'d->d' at %#x, flags %x "
                % (self.at["half"], address, flags),
            ):
                typedcall.tag(half, "d->d", address, flags=flags)
        typed = support.build("typed_functions")
        accelerate(typed)
        self.addCleanup(restore, typed)
        for square in (typed.square, typed.square.__wrapped__):
            with self.assertRaisesRegex(ValueError, "square is tagged already"):
                typedcall.tag(square, "d->d", self.at["half"])

    def test_overloads(self):
        half = self.plain.half
        typedcall.tag(half, ("d->d", "l->l"), (self.at["half"], self.at["inc"]))
        self.assertEqual(typedcall.signatures(half), ["d->d", "l->l"])
        self.assertEqual(typedcall.resolve(half, "l->l")(1), 2)
        with self.assertRaisesRegex(ValueError, "2 signatures and 1 addresses"):
            typedcall.tag(self.plain.add, ("d->d", "l->l"), (self.at["half"],))
        with self.assertRaisesRegex(ValueError, "at least one entry"):
            typedcall.tag(self.plain.add, (), ())

    def test_pointers_of_other_libraries(self):
        half = self.plain.half
        pointers = [
            ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(self.at["half"]),
            ctypes.c_void_p(self.at["half"]),
        ]
        import _cffi_backend

        ffi = _cffi_backend.FFI()
        pointers.append(ffi.cast("double(*)(double)", self.at["half"]))
        pointers.append(ffi.cast("void *", self.at["half"]))
        for pointer in pointers:
            typedcall.tag(half, "d->d", pointer)
            self.assertEqual(typedcall.entries(half)[0].address, self.at["half"])
            typedcall.untag(half)
        typed = support.build("typed_functions")
        typedcall.tag(half, "d->d", typedcall.resolve(typed.half, "d->d"))
        self.assertEqual(typedcall.resolve(half, "d->d")(3.0), 1.5)

    def test_faults(self):
        half = self.plain.half
        for wrong in (None, "text", 1.5, object(), True, len):
            with self.assertRaisesRegex(TypeError, "holds no address of a C function"):
                typedcall.tag(half, "d->d", wrong)
        for wrong in (0, -1, 2**64):
            with self.assertRaisesRegex(ValueError, "not the address"):
                typedcall.tag(half, "d->d", wrong)
        for wrong, reason in (
            (0x0200, "half: entry 0, 'd->d', has flags 0x200, of which some bits have no meaning"),
            (0x01000000, "of which some bits have no meaning"),
            (1 << 40, "unusable flags"),
            (-1, "unusable flags"),
            (int(Flags.MAY_RAISE), "without NEEDS_THREAD"),
        ):
            with self.assertRaisesRegex(ValueError, reason):
                typedcall.tag(half, "d->d", self.at["half"], flags=wrong)
        with self.assertRaisesRegex(ValueError, "cannot say so"):
            typedcall.tag(half, "d->v", self.at["half"],
                          flags=Flags.MAY_RAISE | Flags.NEEDS_THREAD)
        with self.assertRaisesRegex(ValueError, "its result is no int"):
            typedcall.tag(half, "d->l", self.at["half"],
                          flags=Flags.RETURNS_STATUS | Flags.NEEDS_THREAD)
        with self.assertRaisesRegex(ValueError, "position 1"):
            typedcall.tag(half, "dx->d", self.at["half"])
        for wrong in (5, None, self.plain):
            with self.assertRaisesRegex(TypeError, "only callables are tagged"):
                typedcall.tag(wrong, "d->d", self.at["half"])
        self.assertEqual(typedcall.entries(half), [])

    def test_python_functions_are_let_go(self):
        def half(x):
            return x / 2

        typedcall.tag(half, "d->d", self.at["half"])
        self.assertEqual(typedcall.resolve(half, "d->d")(3), 1.5)
        gone = weakref.ref(half)
        del half
        collect()
        self.assertIsNone(gone())

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
            with self.assertRaisesRegex(TypeError, "its tag would go with it: tag its __func__"):
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
        # As it is when the id is used again before the weak reference has called back.
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


@ON_PYPY
class CPythonOnly(Accelerated):
    def test_one_line_says_so(self):
        for call in (
            lambda: typedcall.low_level_callable(self.functions.half),
            lambda: typedcall.export_to_cython(self.functions),
            lambda: typedcall.ufunc(self.functions.half),
        ):
            with self.assertRaisesRegex(ImportError, r"\ACPython only: .*\Z"):
                call()
        self.assertFalse(hasattr(self.functions, "__pyx_capi__"))

    def test_capsules_are_not_read(self):
        class PyCapsule:
            pass

        PyCapsule.__module__ = "builtins"  # as an extension's
        self.assertEqual(typedcall.entries(PyCapsule()), [])
        with self.assertRaisesRegex(TypeError, "holds no address of a C function"):
            typedcall.tag(lambda x: x, "d->d", PyCapsule())


if __name__ == "__main__":
    unittest.main()
