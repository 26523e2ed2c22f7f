"""Tests ctypes pointer objects as arguments of type `P`. C receives the pointer and not the object's own address, as in
a ctypes call."""
import ctypes
import unittest

import adapter_support
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

    def test_the_message_names_what_to_pass_instead(self):
        for name in ("address", "address_const"):
            for call in ways(name):
                if not support.IS_PYPY:  # there byref() returns a pointer object
                    with self.assertRaisesRegex(TypeError, r"not '(?:_ctypes\.)?CArgObject'; pass the object itself, without byref"):
                        call(ctypes.byref(self.numbers))
                with self.assertRaisesRegex(TypeError, r"not 'int'; for an address, pass ctypes.c_void_p\(address\)"):
                    call(self.at)

    @support.ON_CPYTHON  # typed functions take no pointers on PyPy
    def test_the_message_of_a_pointer_to_ints_names_what_to_pass_instead(self):
        def written(pointer):
            raise AssertionError("the C function takes it")

        entry, = typedcall.entries(functions.address)
        typedcall.tag(written, "&i->" + entry.signature.partition(">")[2], entry.address, flags=entry.flags)
        call = typedcall.resolve(written, typedcall.signatures(written)[0])
        number = ctypes.c_int(3)
        pointer = ctypes.pointer(number)
        at = ctypes.addressof(number)
        for wrong, said in (
            (ctypes.byref(number), r"not '(?:_ctypes\.)?CArgObject'; pass the object itself, without byref"),
            (pointer, r"not of '&<i' \(8 bytes\); pass its \.contents"),
            (at, r"not 'int'; for an address, pass ctypes.TYPE.from_address\(address\)"),
        ):
            with self.subTest(said), self.assertRaisesRegex(TypeError, said):
                call(wrong)
        for right in (number, pointer.contents, ctypes.c_int.from_address(at)):
            self.assertEqual(call(right), at)

    @support.ON_CPYTHON
    def test_the_message_of_a_cffi_pointer_names_what_to_pass_instead(self):
        ffi = adapter_support.library("cffi").FFI()
        pointer, numbers = ffi.new("int *"), ffi.new("int[2]")
        at = int(ffi.cast("intptr_t", pointer))
        for call in ways("address"):
            for wrong in (pointer, numbers, ffi.cast("void *", pointer)):
                with self.assertRaisesRegex(TypeError, r"; pass ffi\.buffer\(pointer, size\)$"):
                    call(wrong)
            self.assertEqual(call(ffi.buffer(pointer)), at)
            self.assertEqual(call(ffi.buffer(ffi.cast("void *", pointer), 4)), at)

        def written(pointer):
            raise AssertionError("the C function takes it")

        entry, = typedcall.entries(functions.address)
        typedcall.tag(written, "&i->" + entry.signature.partition(">")[2], entry.address, flags=entry.flags)
        call = typedcall.resolve(written, typedcall.signatures(written)[0])
        with self.assertRaisesRegex(TypeError, r"; pass memoryview\(ffi\.buffer\(pointer, size\)\)\.cast\('i'\)$"):
            call(pointer)
        self.assertEqual(call(memoryview(ffi.buffer(pointer, 4)).cast("i")), at)

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
