"""Tests that Numba's type of a typed function, and code compiled with it, keep the function alive."""

import ctypes
import gc
import unittest
import weakref

import adapter_support
import typedcall

numba = adapter_support.library("numba")
registry = adapter_support.library("numba.core.registry")


def half():
    """Returns a typed function, and a weak reference to its ctypes callback."""
    def half(x):
        raise NotImplementedError

    made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x / 2)
    typedcall.tag(half, "d->d", made)
    return half, weakref.ref(made)


def calling(function):
    return numba.njit(lambda x: function(x))


class Lifetime(unittest.TestCase):
    def setUp(self):
        half_, _ = half()
        numba.njit(lambda x: half_(x))(1.0)  # makes Numba load its own definitions

    def test_a_type_alone_keeps_nothing(self):
        gc.collect()
        definitions = registry.cpu_target.target_context._defns
        before = len(definitions)
        seen = []
        for _ in range(20):
            function, kept = half()
            seen += [weakref.ref(numba.typeof(function)), weakref.ref(function), kept]
            self.assertIs(numba.typeof(function), numba.typeof(function))
        del function
        gc.collect()
        self.assertEqual([each() for each in seen], [None] * len(seen))
        self.assertEqual(len(definitions), before)

    def test_another_tag_gives_another_type(self):
        function, _ = half()
        first = numba.typeof(function)
        typedcall.add_overloads(function, "l->l", ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(abs))
        second = numba.typeof(function)
        self.assertIsNot(first, second)
        dead = weakref.ref(first)
        del first
        gc.collect()
        self.assertIsNone(dead())
        self.assertIs(numba.typeof(function), second)
        self.assertEqual(numba.njit(lambda x: function(x))(-3), 3)

    def test_compiled_code_keeps_what_it_calls(self):
        function, kept = half()
        by_global = calling(function)
        by_argument = numba.njit(lambda f, x: f(x))
        other, other_kept = half()
        self.assertEqual((by_global(3.0), by_argument(other, 5.0)), (1.5, 2.5))
        code = by_argument.overloads
        del function, other
        gc.collect()
        self.assertIsNotNone(kept())
        self.assertIsNotNone(other_kept())
        self.assertEqual(by_global(3.0), 1.5)
        self.assertEqual(len(code), 1)

    def test_a_type_is_made_once_for_compiled_code(self):
        function, _ = half()
        apply = numba.njit(lambda f, x: f(x))
        for _ in range(3):
            self.assertEqual(apply(function, 3.0), 1.5)
            gc.collect()
        self.assertEqual(len(apply.signatures), 1)
