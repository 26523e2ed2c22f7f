"""Tests contradictory entries. Readers skip such an entry, and tag() refuses it."""
import ctypes
import math
import unittest

import support
import typedcall
from typedcall import Flags

METH_O, TYPED, TYPED_EXT = 0x8, 0x1000, 0x2000
MAGIC = 0x5059545950454431
RAISES = Flags.MAY_RAISE | Flags.NEEDS_THREAD
STATUS = Flags.RETURNS_STATUS | Flags.NEEDS_THREAD
MALFORMED = [("d->d", Flags.FALLS_BACK), ("d->v", Flags.FALLS_BACK), ("d&d->l", Flags.FALLS_BACK), ("d->d", STATUS),
             ("d->?", RAISES), ("d->v", RAISES), ("d->Zd", RAISES), ("d->d", Flags.MAY_RAISE),
             ("d->d", Flags.FALLS_BACK | RAISES), ("d->d", Flags(0x0200)), ("d->d", Flags(0x01000000))]


class Entry(ctypes.Structure):
    _fields_ = [("signature", ctypes.c_char_p), ("flags", ctypes.c_size_t), ("function", ctypes.c_void_p)]


class Metadata(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_void_p), ("table", ctypes.c_void_p), ("size", ctypes.c_uint32),
                ("major", ctypes.c_uint16), ("minor", ctypes.c_uint16), ("magic", ctypes.c_uint64),
                ("arg_types", ctypes.c_void_p), ("ret_type", ctypes.c_int), ("underlying", ctypes.c_void_p),
                ("name", ctypes.c_char * 100)]


class Def(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object)
def boxed(self, x):
    return math.sqrt(x)


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
def native(x):
    return x / 2


ADDRESS = ctypes.cast(native, ctypes.c_void_p).value


class Table(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ssize_t), ("entries", Entry * 2)]


def function_with(*rows):
    """Returns a builtin function with entries for these (signature, flags), and the objects that must be kept alive."""
    table = Table(len(rows))
    for entry, (signature, flags) in zip(table.entries, rows):
        entry.signature, entry.flags, entry.function = signature.encode(), int(flags), ADDRESS
    metadata = Metadata(None, ctypes.addressof(table), Metadata.name.offset, 1, 0, MAGIC, None, 0, None, b"made")
    definition = Def(ctypes.addressof(metadata) + Metadata.name.offset, ctypes.cast(boxed, ctypes.c_void_p),
                     METH_O | TYPED | TYPED_EXT, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(definition), None, None), (table, metadata, definition)


@support.ON_CPYTHON  # the structs have CPython's layout
class Readers(unittest.TestCase):
    def test_what_is_right_is_read(self):
        function, _kept = function_with(("d->d", Flags(0)))
        self.assertEqual(typedcall.signatures(function), ["d->d"])
        self.assertEqual((function(4.0), typedcall.resolve(function, "d->d")(4.0)), (2.0, 2.0))

    def test_what_contradicts_itself_is_nothing(self):
        for signature, flags in MALFORMED:
            with self.subTest(signature=signature, flags=flags):
                function, _kept = function_with((signature, flags))
                self.assertEqual(typedcall.signatures(function), [])
                for asked in (signature, "d->d", "d&d->i"):
                    for casting in ("equivalent", "safe"):
                        with self.assertRaises(TypeError):
                            typedcall.resolve(function, asked, casting=casting)

    def test_the_next_is_tried(self):
        for signature, flags in MALFORMED:
            with self.subTest(signature=signature, flags=flags):
                function, _kept = function_with((signature, flags), ("d->d", Flags(0)))
                self.assertEqual(typedcall.signatures(function), ["d->d"])
                self.assertEqual(typedcall.resolve(function, "d->d")(5.0), 2.5)


class Tagging(unittest.TestCase):
    def test_it_refuses_the_same(self):
        for signature, flags in MALFORMED:
            with self.subTest(signature=signature, flags=flags):
                def function(x):
                    return x
                with self.assertRaises(ValueError):
                    typedcall.tag(function, signature, ADDRESS, flags=flags)

    @support.ON_CPYTHON  # PyPy does not support such pointers
    def test_a_const_pointer_is_no_place_for_the_value(self):
        # A const pointer is not a pointer to the result.
        def function(x, at=None):
            return "Python's"

        def by_status(x, at=None):
            return "Python's"

        typedcall.tag(by_status, "d&kd->i", ADDRESS, flags=STATUS)
        with self.assertRaises(TypeError):
            typedcall.ctypes_function(by_status, "d&d->i")
        self.assertIsNotNone(typedcall.ctypes_function(by_status, "d&kd->i"))
        typedcall.tag(function, "d&kd->i", ADDRESS, flags=Flags.FALLS_BACK)
        self.assertEqual(typedcall.signatures(function), ["d&kd->i"])
        for asked in ("d->d", "d&d->i"):
            for casting in ("equivalent", "safe"):
                with self.assertRaises(TypeError):
                    typedcall.resolve(function, asked, casting=casting)
