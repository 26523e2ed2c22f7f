"""Tests ctypes function pointers as typed functions, and typed functions as ctypes function pointers."""

import ctypes
import ctypes.util
import errno
import gc
import unittest
import weakref

import support
import typedcall
from typedcall import Flags

# On PyPy only Callbacks runs here. test_pypy_api has the other tests.
functions = None if support.IS_PYPY else support.build("typed_functions")
DOUBLE = ctypes.c_double


def entry_of(pointer):
    found = typedcall.entries(pointer)
    assert len(found) == 1, found
    return found[0]


@support.ON_CPYTHON  # for CPython
class Source(unittest.TestCase):
    def setUp(self):
        self.libm = ctypes.CDLL(ctypes.util.find_library("m"))
        self.hypot = self.libm.hypot

    def declare(self):
        self.hypot.argtypes, self.hypot.restype = [DOUBLE, DOUBLE], DOUBLE
        return self.hypot

    def test_a_declared_function(self):
        entry = entry_of(self.declare())
        self.assertEqual(entry.signature, "dd->d")
        self.assertEqual(entry.place, "ctypes")
        self.assertEqual(entry.flags, Flags.THREAD_SAFE)
        self.assertEqual(typedcall.resolve(self.hypot, "dd->d")(3.0, 4.0), 5.0)

    def test_without_argtypes_nothing_is_offered(self):
        self.hypot.restype = DOUBLE
        self.assertEqual(typedcall.signatures(self.hypot), [])
        with self.assertRaises(TypeError):
            typedcall.resolve(self.hypot, "dd->d")

    def test_every_simple_type(self):
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_longdouble,
            ctypes.c_bool,
            ctypes.c_byte,
            ctypes.c_ubyte,
            ctypes.c_short,
            ctypes.c_ushort,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_long,
            ctypes.c_ulong,
            ctypes.c_float,
            DOUBLE,
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.py_object,
            ctypes.POINTER(ctypes.c_int),
            ctypes.POINTER(ctypes.POINTER(ctypes.c_int)),
            ctypes.CFUNCTYPE(None),
        )
        self.assertEqual(entry_of(prototype(1 << 20)).signature, "?bBhHiIlLfdPsO&iPP->g")

    def test_void(self):
        self.assertEqual(entry_of(ctypes.CFUNCTYPE(None)(4096)).signature, "->v")

    def test_structs_and_characters_are_refused(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_int)]

        for argument in (Pair, ctypes.c_char, ctypes.c_wchar):
            pointer = ctypes.CFUNCTYPE(DOUBLE, argument)(4096)
            self.assertEqual(typedcall.signatures(pointer), [], argument)

    def test_swapped_bytes_are_refused(self):
        for simple in (ctypes.c_int, ctypes.c_short, ctypes.c_ulong, DOUBLE):
            kinds = {simple.__ctype_be__, simple.__ctype_le__}
            self.assertEqual(len(kinds), 2)
            (swapped,) = kinds - {simple}
            for prototype in (
                ctypes.CFUNCTYPE(None, swapped),
                ctypes.CFUNCTYPE(swapped, DOUBLE),
            ):
                self.assertEqual(typedcall.signatures(prototype(4096)), [], simple)
            # A pointer to such a type has the code `P`.
            pointer = ctypes.CFUNCTYPE(None, ctypes.POINTER(swapped))(4096)
            self.assertEqual(entry_of(pointer).signature, "P->v")
        # Types in native byte order are the usual types.
        for same in (ctypes.c_int, ctypes.c_byte, ctypes.c_bool, ctypes.c_void_p):
            self.assertEqual(len(typedcall.signatures(ctypes.CFUNCTYPE(None, same)(4096))), 1)

    def test_a_pointer_to_a_struct_is_a_pointer(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_int)]

        pointer = ctypes.CFUNCTYPE(DOUBLE, ctypes.POINTER(Pair))(4096)
        self.assertEqual(entry_of(pointer).signature, "P->d")

    def test_a_python_api_function_needs_the_gil_and_may_raise(self):
        pointer = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.py_object)(
            ("PyLong_AsLong", ctypes.pythonapi)
        )
        entry = entry_of(pointer)
        self.assertEqual(entry.flags, Flags.NEEDS_THREAD | Flags.MAY_RAISE)
        as_long = typedcall.resolve(pointer, "O->l")
        self.assertEqual(as_long(-1), -1)
        with self.assertRaises(OverflowError):
            as_long(1 << 80)
        with self.assertRaises(TypeError):
            typedcall.resolve(pointer, "O->l", capabilities=0)

    def test_an_exception_that_no_result_can_report_is_not_offered(self):
        for result in (None, ctypes.c_bool):
            self.assertEqual(typedcall.signatures(ctypes.PYFUNCTYPE(result)(4096)), [])

    def test_callbacks_take_the_gil(self):
        callback = ctypes.CFUNCTYPE(DOUBLE, DOUBLE)(lambda x: x + 1)
        for pointer in (callback, ctypes.cast(callback, type(callback))):
            self.assertEqual(entry_of(pointer).flags, Flags.ACQUIRES_GIL)
        self.assertEqual(typedcall.resolve(callback, "d->d")(1.0), 2.0)

    def test_errno_and_errcheck_are_said(self):
        pointer = ctypes.CFUNCTYPE(DOUBLE, DOUBLE, use_errno=True)(4096)
        self.assertTrue(entry_of(pointer).flags & Flags.SETS_ERRNO)
        self.declare().errcheck = lambda result, function, arguments: -result
        self.assertTrue(entry_of(self.hypot).flags & Flags.DIFFERS)
        with self.assertRaises(TypeError):
            typedcall.resolve(self.hypot, "dd->d")

    def differs(self, pointer, signature="i->i"):
        """True if ctypes converts the values of this function differently than its signature shows."""
        entry = entry_of(pointer)
        self.assertEqual(entry.signature, signature)
        if entry.flags & Flags.DIFFERS:
            with self.assertRaisesRegex(TypeError, "differs from the Python callable"):
                typedcall.resolve(pointer, signature)
        return bool(entry.flags & Flags.DIFFERS)

    def test_a_restype_that_converts(self):
        class Status(ctypes.c_int):
            def _check_retval_(self):
                return -1

        class Direct(ctypes._SimpleCData):
            _type_ = "i"

        class CheckedDirect(Direct.__base__):
            _type_ = "i"
            _check_retval_ = staticmethod(lambda value: value + 1)

        class Number(ctypes.c_int):
            """ctypes returns an instance."""

        class Text(ctypes.c_char_p):
            pass

        class Object(ctypes.py_object):
            pass

        class CheckedPointer(ctypes._Pointer):
            _type_ = ctypes.c_int
            _check_retval_ = staticmethod(bool)

        labs = ctypes.CDLL(None).abs
        labs.argtypes = [ctypes.c_int]
        for restype, differs in ((Status, True), (Number, True), (CheckedDirect, True), (Direct, False),
                                 (ctypes.c_int, False)):
            with self.subTest(restype):
                self.assertEqual(self.differs(ctypes.CFUNCTYPE(restype, ctypes.c_int)(4096)), differs)
                labs.restype = restype
                self.assertEqual(self.differs(labs), differs)
                self.assertEqual(type(labs(-5)) is int and labs(-5) == 5, not differs)
        self.assertTrue(self.differs(ctypes.CFUNCTYPE(Text)(4096), "->s"))
        self.assertTrue(self.differs(ctypes.PYFUNCTYPE(Object)(4096), "->O"))
        self.assertTrue(self.differs(ctypes.CFUNCTYPE(CheckedPointer)(4096), "->&i"))
        self.assertFalse(self.differs(ctypes.PYFUNCTYPE(ctypes.py_object)(4096), "->O"))

    def test_an_argtype_that_converts(self):
        class More(ctypes.c_int):
            @classmethod
            def from_param(cls, value):
                return ctypes.c_int(value + 1)

        class Inherits(More):
            pass

        class Other(ctypes.c_int):
            from_param = ctypes.c_short.from_param

        class Number(ctypes.c_int):
            """ctypes takes the same ints."""

        class Array(ctypes.c_void_p):
            from_param = classmethod(lambda cls, value: value)

        self.assertEqual(ctypes.CFUNCTYPE(ctypes.c_int, More)(("abs", ctypes.CDLL(None)))(-3), 2)
        for argtype, differs in ((More, True), (Inherits, True), (Other, True), (Number, False), (ctypes.c_int, False)):
            with self.subTest(argtype):
                self.assertEqual(self.differs(ctypes.CFUNCTYPE(ctypes.c_int, argtype)(4096)), differs)
        self.assertTrue(self.differs(ctypes.CFUNCTYPE(ctypes.c_int, Array)(4096), "P->i"))
        for argtype, letters in ((ctypes.c_void_p, "P"), (ctypes.py_object, "O"),
                                 (ctypes.POINTER(ctypes.c_int), "&i"), (ctypes.POINTER(ctypes.c_char), "P"),
                                 (ctypes.POINTER(ctypes.c_wchar), "P"), (ctypes.CFUNCTYPE(None), "P")):
            with self.subTest(argtype):
                self.assertFalse(self.differs(ctypes.CFUNCTYPE(ctypes.c_int, argtype)(4096), letters + "->i"))

    def test_ctypes_takes_and_returns_bytes_for_a_text(self):
        class Text(ctypes.c_char_p):
            pass

        libc = ctypes.CDLL(None)
        libc.strlen.argtypes, libc.strlen.restype = [ctypes.c_char_p], ctypes.c_ulong
        libc.strerror.argtypes, libc.strerror.restype = [ctypes.c_int], ctypes.c_char_p
        self.assertEqual((libc.strlen(b"abc"), type(libc.strerror(0))), (3, bytes))
        self.assertRaises(ctypes.ArgumentError, libc.strlen, "abc")
        for function, signature, given, wanted in ((libc.strlen, "s->L", "abc", 3),
                                                   (libc.strerror, "i->s", 0, libc.strerror(0).decode())):
            self.assertTrue(self.differs(function, signature))
            self.assertRaisesRegex(TypeError, "differs from the Python callable", typedcall.resolve, function, signature)
            resolved = typedcall.resolve(function, signature, capabilities=typedcall.Flags.DIFFERS)
            self.assertEqual(resolved(given), wanted)
        self.assertTrue(self.differs(ctypes.CFUNCTYPE(None, Text)(4096), "s->v"))

    def test_parameters_that_ctypes_fills_in(self):
        prototype = ctypes.CFUNCTYPE(DOUBLE, DOUBLE, ctypes.POINTER(ctypes.c_int))
        self.assertEqual(prototype(("frexp", self.libm), ((1, "x"), (2, "exponent")))(8.0), 4)
        for second, differs in (((2, "exponent"), True), ((2,), True), ((3, "exponent"), True), ((1, "exponent", 5), True),
                                ((1, "exponent", None), True), ((1, "exponent"), False),
                                ((0,), False), ((1,), False)):
            with self.subTest(second):
                pointer = prototype(("frexp", self.libm), ((1, "x"), second))
                self.assertEqual(self.differs(pointer, "d&i->d"), differs)
        omitted = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(("abs", ctypes.CDLL(None)), ((5, "x"),))
        self.assertEqual((omitted(), self.differs(omitted)), (0, True))

    def test_a_prototype_with_a_call_of_its_own(self):
        class Prototype(ctypes._CFuncPtr):
            _flags_ = ctypes.CFUNCTYPE(None)._flags_
            _argtypes_ = (ctypes.c_int,)
            _restype_ = ctypes.c_int

        class Doubled(Prototype):
            _flags_, _argtypes_, _restype_ = Prototype._flags_, Prototype._argtypes_, Prototype._restype_

            def __call__(self, *arguments):
                return 2 * super().__call__(*arguments)

        self.assertFalse(self.differs(Prototype(("abs", ctypes.CDLL(None)))))
        doubled = Doubled(("abs", ctypes.CDLL(None)))
        self.assertEqual((doubled(-3), self.differs(doubled)), (6, True))

    def test_null_is_nothing(self):
        self.assertEqual(typedcall.signatures(ctypes.CFUNCTYPE(DOUBLE)()), [])


class Callbacks(unittest.TestCase):
    """Tests which pointers may call Python and so acquire the GIL."""

    def setUp(self):
        self.prototype = ctypes.CFUNCTYPE(DOUBLE, DOUBLE)
        self.callback = self.prototype(lambda x: x + 1)
        self.library = ctypes.CDLL("libm.so.6")
        self.sqrt = self.library.sqrt
        self.sqrt.argtypes, self.sqrt.restype = [DOUBLE], DOUBLE

    def test_casts_of_callbacks(self):
        void = ctypes.cast(self.callback, ctypes.c_void_p)
        once = ctypes.cast(self.callback, self.prototype)
        for pointer in (
            self.callback,
            once,
            ctypes.cast(once, self.prototype),
            ctypes.cast(void, self.prototype),
        ):
            self.assertEqual(entry_of(pointer).flags, Flags.ACQUIRES_GIL)

    def test_casts_of_functions_of_a_library(self):
        once = ctypes.cast(self.sqrt, self.prototype)
        twice = ctypes.cast(once, self.prototype)
        for pointer in (
            self.sqrt,
            once,
            twice,
            self.prototype(("sqrt", self.library)),
        ):
            self.assertEqual(entry_of(pointer).flags, Flags.THREAD_SAFE)

    def kept_in_memory(self, function):
        """Yields the function pointer for each way in which ctypes can read it from memory."""

        class Table(ctypes.Structure):
            _fields_ = [("count", ctypes.c_int), ("function", self.prototype)]

        class Either(ctypes.Union):
            _fields_ = [("function", self.prototype), ("number", ctypes.c_size_t)]

        table, either, array = Table(1, function), Either(function), (self.prototype * 2)(function)
        room = ctypes.pointer(function)
        yield table.function
        yield either.function
        yield array[0]
        yield room.contents
        yield room[0]
        yield self.prototype.from_address(ctypes.addressof(function))
        yield self.prototype(ctypes.cast(function, ctypes.c_void_p).value)
        yield ctypes.cast(ctypes.cast(function, ctypes.c_void_p).value, self.prototype)
        yield ctypes.cast(table.function, self.prototype)
        if not support.IS_PYPY:  # PyPy considers function types abstract
            yield self.prototype.from_buffer(array)
            yield self.prototype.from_buffer_copy(array)

    def test_what_is_read_from_memory_is_what_is_there(self):
        function = ctypes.cast(self.sqrt, self.prototype)
        for index, pointer in enumerate(self.kept_in_memory(function)):
            with self.subTest(index):
                self.assertEqual(entry_of(pointer).flags, Flags.THREAD_SAFE)
        for index, pointer in enumerate(self.kept_in_memory(self.callback)):
            with self.subTest(index):
                self.assertEqual(entry_of(pointer).flags, Flags.ACQUIRES_GIL)

    def test_what_is_of_no_library_may_be_one(self):
        unknown = self.prototype(4096)
        for index, pointer in enumerate([unknown, *self.kept_in_memory(unknown)]):
            with self.subTest(index):
                self.assertEqual(entry_of(pointer).flags, Flags.ACQUIRES_GIL)

    def test_what_was_replaced_counts_no_more(self):
        array = (self.prototype * 1)(self.callback)
        pointer = array[0]
        array[0] = ctypes.cast(self.sqrt, self.prototype)
        entry = entry_of(pointer)
        address = ctypes.cast(self.sqrt, ctypes.c_void_p).value
        of_sqrt = entry.address == address
        self.assertEqual(entry.flags, Flags.THREAD_SAFE if of_sqrt else Flags.ACQUIRES_GIL)

    def test_functions_that_may_raise(self):
        prototype = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.py_object)
        raises = Flags.NEEDS_THREAD | Flags.MAY_RAISE
        self.assertEqual(entry_of(prototype(4096)).flags, raises)
        self.assertEqual(entry_of((prototype * 1)(prototype(4096))[0]).flags, raises)
        # ctypes prints an exception raised in a callback.
        self.assertEqual(entry_of(prototype(lambda x: 1)).flags, Flags.ACQUIRES_GIL)


@support.ON_CPYTHON  # for CPython
class Sink(unittest.TestCase):
    def test_types_and_results(self):
        add = typedcall.ctypes_function(functions.add)
        self.assertEqual(add.argtypes, (DOUBLE, DOUBLE))
        self.assertIs(add.restype, DOUBLE)
        self.assertEqual(add(1.5, 2), 3.5)
        with self.assertRaises(ctypes.ArgumentError):
            add("1", 2)
        self.assertEqual(typedcall.ctypes_function(functions.mix)(2.0, 3, 4.0, 5), 26.0)
        self.assertIs(typedcall.ctypes_function(functions.negate)(False), True)
        self.assertEqual(typedcall.ctypes_function(functions.same_text)(b"abc"), b"abc")
        values = (DOUBLE * 3)(1, 2, 3)
        self.assertEqual(typedcall.ctypes_function(functions.sum_of)(values, 3), 6)

    def test_an_overload_is_chosen_by_its_signature(self):
        self.assertEqual(typedcall.ctypes_function(functions.absolute, "d->d")(-2.5), 2.5)
        self.assertEqual(typedcall.ctypes_function(functions.absolute, "q->q")(-2), 2)
        with self.assertRaisesRegex(TypeError, "'l->l'.*'d->d'"):
            typedcall.ctypes_function(functions.absolute, "f->f")
        with self.assertRaises(ValueError):
            typedcall.ctypes_function(functions.absolute, "f-f")

    def test_the_gil_is_kept_where_it_is_needed(self):
        keeps = ctypes.PYFUNCTYPE(DOUBLE)._flags_
        lets_go = ctypes.CFUNCTYPE(DOUBLE)._flags_
        self.assertNotEqual(keeps, lets_go)
        self.assertEqual(typedcall.ctypes_function(functions.add)._flags_, lets_go)
        self.assertEqual(typedcall.ctypes_function(functions.div)._flags_, keeps)
        # counted() is not declared thread-safe.
        self.assertEqual(typedcall.ctypes_function(functions.counted)._flags_, keeps)

    def test_exceptions_are_raised(self):
        invert = typedcall.ctypes_function(functions.invert)
        result = DOUBLE()
        self.assertEqual((invert(4.0, ctypes.byref(result)), result.value), (0, 0.25))
        with self.assertRaises(ZeroDivisionError):
            invert(0.0, ctypes.byref(result))
        self.assertIs(typedcall.ctypes_function(functions.same_object)(self), self)

    def test_errno_is_kept_with_the_gil_and_without(self):
        def close(descriptor):
            raise AssertionError("Python is not called")

        closing = ctypes.cast(ctypes.CDLL(None).close, ctypes.c_void_p)
        for flags in (Flags(0), Flags.NEEDS_THREAD, Flags.THREAD_SAFE):
            typedcall.tag(close, "i->i", closing, flags=flags | Flags.SETS_ERRNO)
            made = typedcall.ctypes_function(close)
            ctypes.set_errno(0)
            self.assertEqual((made(-1), ctypes.get_errno()), (-1, errno.EBADF), flags)
            typedcall.untag(close)
            for name, signature, value, result in (("labs", "l->l", -2**40 - 5, 2**40 + 5), ("atof", "s->d", b"2.5", 2.5)):
                own = lambda x: None
                address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p)
                typedcall.tag(own, signature, address, flags=flags | Flags.SETS_ERRNO)
                self.assertEqual(typedcall.ctypes_function(own)(value), result, flags)

    def test_what_takes_self_or_offers_nothing_is_refused(self):
        scaler = functions.Scaler(2.0)
        with self.assertRaisesRegex(TypeError, "takes self"):
            typedcall.ctypes_function(scaler.scale)
        with self.assertRaisesRegex(TypeError, "offers no typed function"):
            typedcall.ctypes_function(len)

    def test_there_and_back(self):
        pointer = typedcall.ctypes_function(functions.half)
        entry = entry_of(pointer)
        self.assertEqual(entry.signature, "d->d")
        self.assertEqual(entry.address, typedcall.entries(functions.half)[0].address)
        resolved = typedcall.resolve(functions.half, "d->d")
        self.assertEqual(typedcall.ctypes_function(resolved)(5.0), 2.5)

    def test_a_ctypes_function_stays_alive(self):
        def one_more(x):
            return x + 1

        alive = weakref.ref(one_more)
        pointer = typedcall.ctypes_function(ctypes.CFUNCTYPE(DOUBLE, DOUBLE)(one_more))
        del one_more
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(pointer(1.0), 2.0)
        del pointer
        gc.collect()
        self.assertIsNone(alive())
