"""Tests ctypes pointer objects as arguments of type `P`. C receives the pointer and not the object's own address, as in
a ctypes call."""
import ctypes
import unittest

import support
import typedcall

functions = support.build("pointer_functions")


def ways(name):
    """Returns all callables that pass a pointer to the C function."""
    f = getattr(functions, name)
    made = [f]
    (entry,) = typedcall.entries(f)
    if not support.IS_PYPY:  # typed functions take no pointers on PyPy
        def tagged(pointer):
            raise AssertionError("the C function takes it")

        typedcall.tag(tagged, entry.signature, entry.address, flags=entry.flags)
        made += [typedcall.resolve(f, entry.signature), typedcall.resolve(tagged, entry.signature)]
    return made


class PointerObjects(unittest.TestCase):
    def setUp(self):
        self.numbers = (ctypes.c_double * 3)(1, 2, 3)
        self.at = ctypes.addressof(self.numbers)

    def test_the_pointer_is_passed(self):
        function = ctypes.CFUNCTYPE(None)(lambda: None)
        pointers = [
            (ctypes.c_void_p(self.at), self.at),
            (ctypes.cast(self.numbers, ctypes.c_void_p), self.at),
            (ctypes.cast(self.numbers, ctypes.POINTER(ctypes.c_double)), self.at),
            (ctypes.pointer(self.numbers), self.at),
            (function, ctypes.cast(function, ctypes.c_void_p).value),
        ]
        for name in ("address", "address_const"):
            for call in ways(name):
                for pointer, wanted in pointers:
                    with self.subTest(call=call, pointer=pointer):
                        self.assertEqual(call(pointer), wanted)

    def test_null(self):
        for name in ("address", "address_const"):
            for call in ways(name):
                for pointer in (None, ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int)(), ctypes.c_void_p(0)):
                    with self.subTest(call=call, pointer=pointer):
                        self.assertEqual(call(pointer), 0)

    def test_texts(self):
        for text in (ctypes.c_char_p(b"text"), ctypes.c_wchar_p("text")):
            at = ctypes.cast(text, ctypes.c_void_p).value
            # Only the wrapper knows that the parameter is const.
            wrapper, *others = ways("address_const")
            self.assertEqual(wrapper(text), at)
            for call in [*others, *ways("address")]:
                with self.assertRaisesRegex(TypeError, "points to a constant, but the function may write to this argument"):
                    call(text)

    def test_memory_stays_memory(self):
        pointer = ctypes.c_void_p(self.at)
        for name in ("address", "address_const"):
            for call in ways(name):
                self.assertEqual(call(self.numbers), self.at)
                self.assertEqual(call(memoryview(pointer)), ctypes.addressof(pointer))
                several = (ctypes.c_void_p * 2)(self.at, self.at)
                self.assertEqual(call(several), ctypes.addressof(several))

    def test_a_number_is_no_address(self):
        for call in ways("address"):
            with self.assertRaises(TypeError):
                call(self.at)
