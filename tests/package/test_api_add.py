"""Tests add_overloads(), which appends overloads to a tag, and detects conflicts."""
import ctypes
import gc
import sys
import re
import unittest
import weakref

import support
import typedcall
from typedcall import Flags

DOUBLE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
FLOAT = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)
LONG = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)


def rows(f):
    return [(entry.signature, int(entry.flags), entry.address) for entry in typedcall.entries(f)]


def address(pointer):
    return ctypes.cast(pointer, ctypes.c_void_p).value


class Add(unittest.TestCase):
    def setUp(self):
        def f(x):
            return x

        self.f = f
        self.double, self.float, self.long = DOUBLE(lambda x: x + 1), FLOAT(abs), LONG(abs)

    def test_behind_what_is_there(self):
        f = self.f
        # Add the address and not the callback, because on PyPy only C code can call a ctypes callback.
        typedcall.add_overloads(f, "d->d", address(self.double), flags=Flags.PURE)
        resolved = typedcall.resolve(f, "d->d")
        first = rows(f)
        pointers = [address(self.float), address(self.long)]
        typedcall.add_overloads(f, ["f->f", "l->l"], pointers, flags=[0, Flags.SHORT])
        self.assertEqual([row[0] for row in rows(f)], ["d->d", "f->f", "l->l"])
        self.assertEqual(rows(f)[:1], first)
        self.assertEqual(rows(f)[2][2], address(self.long))
        self.assertEqual((resolved(1.0), typedcall.resolve(f, "d->d")(1.0)), (2.0, 2.0))
        self.assertEqual(typedcall.resolve(f, "l->l")(-3), 3)

    def test_what_is_there_is_not_added(self):
        f = self.f
        typedcall.tag(f, ["d->d", "f->f"], [self.double, self.float])
        before = rows(f)
        typedcall.add_overloads(f, "double(double)", self.double)
        typedcall.add_overloads(f, ["f->f", "d->d"], [self.float, self.double])
        self.assertEqual(rows(f), before)

    def test_conflicts_are_named(self):
        f = self.f
        typedcall.tag(f, ["d->d", "l->l"], [self.double, self.long])
        before = rows(f)
        flags = before[0][1] | int(Flags.PURE)
        for signature, pointer, more in (
            ("d->d", address(self.float), 0), ("q->q", address(self.float), 0),
            ("d->d", self.double, Flags.PURE), (["f->f", "l->l"], [self.float, address(self.float)], 0),
        ):
            with self.subTest(signature), self.assertRaisesRegex(
                    ValueError, "f is tagged already: '.->.' at 0x.*; cannot add "):
                typedcall.add_overloads(f, signature, pointer, flags=more)
            self.assertEqual(rows(f), before)
        with self.assertRaisesRegex(ValueError, re.escape(Flags(flags).text) + "$"):
            typedcall.add_overloads(f, "d->d", self.double, flags=Flags.PURE)
        with self.assertRaisesRegex(ValueError, "unknown type code"):
            typedcall.add_overloads(f, "y->d", 1)
        with self.assertRaises(TypeError):
            typedcall.add_overloads(f, "f->f", None)
        self.assertEqual(rows(f), before)

    def test_by_several_threads(self):
        pointer = address(self.double)
        signatures = [f"{each}->{each}" for each in ("d", "f", "l", "i", "h", "b", "L", "I", "H", "B", "?", "Zd")]
        threads = 4
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        for _ in range(40):
            def f(x):
                return x

            def add(first, f=f):
                for each in signatures[first::threads]:
                    typedcall.add_overloads(f, each, pointer)

            support.at_once(add, [(i,) for i in range(threads)])
            self.assertEqual(sorted(typedcall.signatures(f)), sorted(signatures))
            typedcall.untag(f)

    def test_the_function_goes(self):
        def f(x):
            return x

        typedcall.tag(f, "d->d", self.double)
        typedcall.add_overloads(f, "f->f", self.float)
        typedcall.add_overloads(f, "l->l", self.long)
        # Objects of earlier tags stay alive, as after untag().
        gone = [weakref.ref(f), weakref.ref(self.long)]
        del f, self.double, self.float, self.long
        for _ in range(3):
            gc.collect()
        self.assertEqual([each() for each in gone], [None, None])

    @support.ON_CPYTHON  # PyPy frees objects later
    def test_what_it_depends_on_is_kept(self):
        f = self.f
        typedcall.tag(f, "d->d", self.double)
        typedcall.add_overloads(f, "f->f", self.float)
        gone = [weakref.ref(self.double), weakref.ref(self.float)]
        del self.double, self.float
        gc.collect()
        self.assertEqual([each() is None for each in gone], [False, False])
        self.assertEqual(typedcall.resolve(f, "d->d")(1.0), 2.0)
        self.assertEqual(typedcall.resolve(f, "f->f")(-2.0), 2.0)


@support.ON_CPYTHON  # PyPy can tag only objects
class ToAModule(unittest.TestCase):
    def test_what_a_module_brings(self):
        typed = support.build("typed_functions")
        before = rows(typed.half)
        single = FLOAT(lambda x: x / 2)
        place = typedcall.entries(typed.half)[0].place
        if place == "method metadata":
            with self.assertRaisesRegex(ValueError, "half has 'd->d' in its method metadata, which cannot be extended"):
                typedcall.add_overloads(typed.half, "f->f", single)
            self.assertEqual(rows(typed.half), before)
        else:
            typedcall.add_overloads(typed.half, "f->f", single)
            self.assertEqual(rows(typed.half)[: len(before)], before)
            self.assertEqual(typedcall.resolve(typed.half, "f->f", casting="exact")(3.0), 1.5)
            self.assertEqual(typedcall.resolve(typed.half, "d->d")(3.0), 1.5)
            with self.assertRaisesRegex(ValueError, "half is tagged already"):
                typedcall.add_overloads(typed.half, "d->d", address(single))
