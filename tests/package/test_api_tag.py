"""Tests tag(), untag() and publish(), with every kind of pointer."""
import ctypes
import gc
import math
import sys
import unittest
import weakref

import adapter_support
import support
import typedcall
from typedcall import Flags

typed = support.build("typed_functions")
plain = support.build("plain_functions")
try:
    import cffi
except ImportError:
    cffi = None


def address_of(name):
    return plain.addresses[name]


class Tagged(unittest.TestCase):
    def tearDown(self):
        for name in ("inc", "add", "mix", "half"):
            typedcall.untag(getattr(plain, name))


class Tag(Tagged):
    def test_by_an_int(self):
        for name, signature, args in (("inc", "l->l", (41,)), ("add", "dd->d", (1.5, 2.0)),
                                      ("mix", "dldl->d", (1.5, 2, 3.5, 4))):
            function = getattr(plain, name)
            self.assertEqual(typedcall.signatures(function), [])
            typedcall.tag(function, signature, address_of(name), flags=Flags.PURE)
            entry, = typedcall.entries(function)
            self.assertEqual((entry.signature, entry.flags, entry.address, entry.place),
                             (signature, Flags.PURE, address_of(name), "object row" if support.IS_PYPY else "def row"))
            f = typedcall.resolve(function, signature)
            self.assertEqual(f(*args), function(*args))

    def test_a_signature_as_c_spells_it(self):
        for text, letters, name, args in (
                ("double(double, double)", "dd->d", "add", (1.5, 2.0)),
                ("double mix(double, long n, double, long)", "dldl->d", "mix", (1.5, 2, 3.5, 4)),
                ("long int (long)", "l->l", "inc", (41,))):
            function = getattr(plain, name)
            typedcall.tag(function, text, address_of(name))
            self.assertEqual(typedcall.signatures(function), [letters])
            self.assertEqual(typedcall.resolve(function, letters)(*args), function(*args))
            typedcall.untag(function)
        for text, words in (
                ("double(complicated)", "no type code for the C type 'complicated'; there are "
                 ".*bool, .*double"),
                ("double(double, ...)", "variable arguments"),
                ("double(void, int)", "cannot be void"),
                ("(double)", "not the type of a C function")):
            with self.assertRaisesRegex(ValueError, words):
                typedcall.tag(plain.half, text, address_of("half"))
        self.assertEqual(typedcall.signatures(plain.half), [])

    def test_calls_reach_the_address_and_not_the_wrapper(self):
        typedcall.tag(plain.half, "d->d", address_of("half_differs"))
        self.assertEqual(typedcall.resolve(plain.half, "d->d")(2.0), 1001.0)
        self.assertEqual(plain.half(2.0), 1.0)

    def test_untag(self):
        self.assertFalse(typedcall.untag(plain.half))
        typedcall.tag(plain.half, "d->d", address_of("half"))
        f = typedcall.resolve(plain.half, "d->d")
        self.assertTrue(typedcall.untag(plain.half))
        self.assertEqual(typedcall.entries(plain.half), [])
        self.assertFalse(typedcall.untag(plain.half))
        self.assertEqual(f(3.0), 1.5)  # a resolved function can still be called

    def test_the_same_tag_twice_is_one_another_is_a_conflict(self):
        typedcall.tag(plain.half, "d->d", address_of("half"))
        typedcall.tag(plain.half, "d->d", address_of("half"))
        self.assertEqual(len(typedcall.entries(plain.half)), 1)
        with self.assertRaisesRegex(ValueError, "half is tagged already: 'd->d'"):
            typedcall.tag(plain.half, "d->d", address_of("half_differs"))
        with self.assertRaisesRegex(
                ValueError, "^plain_functions.half is tagged already: 'd->d' at 0x[0-9a-f]+, no flags \\(overload 1 of 1\\), "
                "stands, 'd->d' at 0x[0-9a-f]+, THREAD_SAFE\\|PURE \\(of 1\\), was offered; to replace the tag, call untag"):
            typedcall.tag(plain.half, "d->d", address_of("half"), flags=Flags.PURE | Flags.THREAD_SAFE)
        with self.assertRaisesRegex(ValueError, "tagged already"):
            typedcall.tag(plain.half, "d->d", address_of("half"), flags=Flags.PURE)
        self.assertEqual(typedcall.resolve(plain.half, "d->d").address, address_of("half"))

    @support.ON_CPYTHON
    def test_after_a_conflict_untag_makes_room(self):
        def own(x):
            return x

        class Called:
            def __call__(self, x):
                return x

        for each, name in ((own, r"\S+\.own"), (Called(), "a 'Called' object")):
            typedcall.tag(each, "d->d", address_of("half"))
            with self.assertRaisesRegex(ValueError, f"^{name} is tagged already: .*, PURE .* call untag"):
                typedcall.tag(each, "d->d", address_of("half"), flags=Flags.PURE)
            self.assertTrue(typedcall.untag(each))
            typedcall.tag(each, "d->d", address_of("half"), flags=Flags.PURE)
            self.assertEqual(typedcall.entries(each)[0].flags, Flags.PURE)

    def test_a_pointer_of_another_type_has_a_way_out(self):
        import ctypes

        pointer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(address_of("half"))
        with self.assertRaisesRegex(TypeError, "it is 'P->d'; .* pass ctypes.cast\\(f, ctypes.c_void_p\\)$"):
            typedcall.tag(lambda x: x, "double (intptr_t)", pointer)
        f = lambda x: x  # noqa: E731
        typedcall.tag(f, "double (intptr_t)", ctypes.cast(pointer, ctypes.c_void_p))
        self.assertEqual(len(typedcall.signatures(f)), 1)

    @support.ON_CPYTHON  # no function of a module has an address on PyPy
    def test_a_function_of_another_type_has_a_way_out(self):
        with self.assertRaisesRegex(TypeError, "it is 'l->l'; .* pass typedcall.entries\\(f\\)\\[0\\].address$"):
            typedcall.tag(lambda x: x, "d->d", typed.inc)

    @support.ON_CPYTHON
    def test_a_cffi_pointer_of_another_type_has_a_way_out(self):
        ffi = adapter_support.library("cffi").FFI()
        with self.assertRaisesRegex(TypeError, r"it is 'i->d'; .* pass ffi.cast\('void \*', f\)$"):
            typedcall.tag(lambda x: x, "d->d", ffi.cast("double(*)(int)", address_of("half")))

    def test_a_conflict_shows_where_the_overloads_begin_to_differ(self):
        half = address_of("half")
        typedcall.tag(plain.half, ["d->d", "f->d"], [half, half])
        for signatures, expected in (
            (["d->d", "l->d"], "'f->d' at .* \\(overload 2 of 2\\), stands, 'l->d' at .*\\(of 2\\)"),
            (["d->d"], "'d->d' at .* \\(overload 1 of 2\\), stands, 'd->d' at .* \\(of 1\\)"),
        ):
            with self.assertRaisesRegex(ValueError, expected):
                typedcall.tag(plain.half, signatures, [half] * len(signatures))

    def test_overloads(self):
        typedcall.tag(plain.half, ("d->d", "l->l"), (address_of("half"), address_of("inc")))
        self.assertEqual(typedcall.signatures(plain.half), ["d->d", "l->l"])
        self.assertEqual(typedcall.resolve(plain.half, "l->l")(1), 2)
        with self.assertRaisesRegex(ValueError, "2 signatures and 1 addresses"):
            typedcall.tag(plain.add, ("d->d", "l->l"), (address_of("half"),))
        with self.assertRaisesRegex(ValueError, "at least one entry"):
            typedcall.tag(plain.add, (), ())

    def test_python_functions_are_tagged_as_objects_and_let_go(self):
        def half(x):
            return x / 2

        typedcall.tag(half, "d->d", address_of("half"))
        entry, = typedcall.entries(half)
        self.assertEqual(entry.place, "object row")
        self.assertEqual(typedcall.resolve(half, "d->d")(3), 1.5)
        gone = weakref.ref(half)
        del half, entry
        gc.collect()
        self.assertIsNone(gone())

    def test_faulty_signatures_name_the_position(self):
        for text, position in (("", 0), ("d->", 3), ("dx->d", 1)):
            with self.assertRaisesRegex(ValueError, "position %d:" % position):
                typedcall.tag(plain.half, text, address_of("half"))
        self.assertEqual(typedcall.entries(plain.half), [])

    def test_faulty_flags(self):
        for flags in (0x0200, 0x01000000, int(Flags.MAY_RAISE)):
            with self.assertRaisesRegex(ValueError, "half: .* flags"):
                typedcall.tag(plain.half, "d->d", address_of("half"), flags=flags)
        for signature, flag, words in (("d->v", Flags.MAY_RAISE, "cannot say so"),
                                       ("d->l", Flags.RETURNS_STATUS, "its result is not an int")):
            with self.assertRaisesRegex(ValueError, words):
                typedcall.tag(plain.half, signature, address_of("half"), flags=flag | Flags.NEEDS_THREAD)
        with self.assertRaises(ValueError):  # complex numbers have no error value
            typedcall.tag(plain.half, "d->Zd", address_of("half"),
                          flags=Flags.MAY_RAISE | Flags.NEEDS_THREAD)

    def test_what_falls_back_raises_nothing(self):
        for flags in (Flags.MAY_RAISE, Flags.RETURNS_STATUS, Flags.ERROR_IS_NEG_ZERO):
            with self.assertRaisesRegex(ValueError, "half: .* contradict each other"):
                typedcall.tag(plain.half, "d&d->i", address_of("half"),
                              flags=flags | Flags.NEEDS_THREAD | Flags.FALLS_BACK)
        with self.assertRaisesRegex(ValueError, "falls back, but its result is not an int"):
            typedcall.tag(plain.half, "d->d", address_of("half"), flags=Flags.FALLS_BACK)
        self.assertEqual(typedcall.entries(plain.half), [])

    def test_each_overload_may_have_flags_of_its_own(self):
        function = lambda x: x  # noqa: E731
        typedcall.tag(function, ["d->d", "l->l"], [4711, 4712], flags=(Flags.PURE, 0))
        self.assertEqual([entry.flags for entry in typedcall.entries(function)], [Flags.PURE, 0])
        with self.assertRaisesRegex(ValueError, "2 signatures and 1 flags: one for each"):
            typedcall.tag(lambda x: x, ["d->d", "l->l"], [4711, 4712], flags=[0])
        with self.assertRaisesRegex(ValueError, "unusable flags"):
            typedcall.tag(lambda x: x, ["d->d", "l->l"], [4711, 4712], flags=[0, -1])
        with self.assertRaisesRegex(TypeError, "flags must be"):
            typedcall.tag(lambda x: x, ["d->d", "l->l"], [4711, 4712], flags=[0, "x"])

    def test_swapped_arguments_are_named(self):
        for arguments in ((math.fabs, 4711, "d->d"), ("d->d", math.fabs, 4711)):
            with self.assertRaisesRegex(TypeError, "swapped: the Python function comes first"):
                typedcall.tag(*arguments)

    def test_an_unknown_code_comes_with_a_list(self):
        with self.assertRaisesRegex(ValueError, r"'x->d' at position 0: unknown .*, l long, .* Zd "):
            typedcall.tag(lambda x: x, "x->d", 4711)

    def test_what_is_no_callable(self):
        for wrong in (5, None, "text", plain):
            with self.assertRaisesRegex(TypeError, "only callables are tagged"):
                typedcall.tag(wrong, "d->d", address_of("half"))


class Pointers(Tagged):
    def check(self, pointer):
        typedcall.tag(plain.half, "d->d", pointer)
        entry, = typedcall.entries(plain.half)
        # Higher bits are hints that adapters add.
        self.assertEqual((entry.address, entry.flags & 0xFFFF), (address_of("half"), 0))
        self.assertEqual(typedcall.resolve(plain.half, "d->d")(3.0), 1.5)

    def refused(self, pointer, message, error=TypeError, signature="d->d"):
        with self.assertRaisesRegex(error, message):
            typedcall.tag(plain.half, signature, pointer)
        self.assertEqual(typedcall.entries(plain.half), [])

    def test_ints_that_are_no_address(self):
        self.refused(0, "not the address", ValueError)
        self.refused(-1, "not the address", ValueError)
        self.refused(2**64, "not the address", ValueError)
        self.refused(True, "holds no address")

    def test_other_objects(self):
        for wrong in ("text", None, 1.5, object(), ctypes.c_long(5), len, lambda x: x):
            self.refused(wrong, "holds no address of a C function")

    def test_ctypes_void_pointer(self):
        self.check(ctypes.c_void_p(address_of("half")))
        typedcall.untag(plain.half)
        self.refused(ctypes.c_void_p(None), "not the address", ValueError)

    def test_ctypes_function(self):
        prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
        self.check(prototype(address_of("half")))

    def test_ctypes_function_of_another_type(self):
        prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_long)
        self.refused(prototype(address_of("half")), "is not a C function of 'd->d'; it is 'l->d'")

    def test_ctypes_function_without_argtypes_is_what_the_caller_says(self):
        function = ctypes.CDLL(plain.__file__)["PyInit_plain_functions"]
        typedcall.tag(plain.half, "->P", function)
        self.assertEqual(typedcall.signatures(plain.half), ["->P"])

    @support.ON_CPYTHON
    def test_a_function_of_python_s_without_argtypes_may_raise(self):
        def tagged(number):
            return int(number)

        typedcall.tag(tagged, "O->l", ctypes.pythonapi["PyLong_AsLong"])
        entry, = typedcall.entries(tagged)
        self.assertEqual(entry.flags, Flags.NEEDS_THREAD | Flags.MAY_RAISE)
        call = typedcall.resolve(tagged, "O->l")
        self.assertEqual((call(5), call(-1)), (5, -1))
        with self.assertRaises(OverflowError):
            call(1 << 80)
        self.refused(ctypes.pythonapi["Py_IncRef"], "may raise, which 'O->v' cannot say",
                     signature="O->v")

    def test_that_nobody_knows_how_it_reports_errors_is_not_forgotten(self):
        def elsewhere(x):
            return x / 2

        typedcall.tag(elsewhere, "d->d", address_of("half"), flags=Flags.DIFFERS)
        typedcall.tag(plain.half, "d->d", elsewhere)
        entry, = typedcall.entries(plain.half)
        self.assertTrue(entry.flags & Flags.DIFFERS)
        with self.assertRaisesRegex(TypeError, "differs"):
            typedcall.resolve(plain.half, "d->d")

    @support.ON_CPYTHON
    def test_ctypes_callback_takes_the_gil(self):
        callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x * 3)
        typedcall.tag(plain.half, "d->d", callback)
        entry, = typedcall.entries(plain.half)
        self.assertEqual(entry.flags & 0xFFFF, Flags.ACQUIRES_GIL)
        self.assertEqual(typedcall.resolve(plain.half, "d->d")(2.0), 6.0)

    @support.ON_CPYTHON
    def test_what_was_given_is_kept_alive(self):
        callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x * 3)

        def tagged(x):
            return x * 3

        gone = weakref.ref(callback)
        typedcall.tag(tagged, "d->d", callback)
        del callback
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(typedcall.resolve(tagged, "d->d")(2.0), 6.0)
        del tagged
        gc.collect()
        self.assertIsNone(gone())

    @support.ON_CPYTHON
    def test_an_equal_tag_keeps_the_same_once(self):
        def tagged(x):
            return x / 2

        def shown():
            pass

        pointer = ctypes.c_void_p(address_of("half"))
        typedcall.tag(shown, "d->d", pointer)
        function = typedcall.resolve(shown, "d->d")
        for address in (pointer, shown, function):
            typedcall.tag(tagged, "d->d", address)
            support.leaks.check(lambda address=address: typedcall.tag(tagged, "d->d", address), 100, warm_up=1,
                                unchanged=(address, shown))

    @support.ON_CPYTHON
    def test_a_refused_tag_keeps_nothing(self):
        pointer = ctypes.c_void_p(address_of("half"))
        before = sys.getrefcount(pointer)
        for _ in range(10):
            with self.assertRaises(ValueError):
                typedcall.tag(plain.half, "d->d", pointer, flags=0x0200)
        self.assertEqual(sys.getrefcount(pointer), before)

    @unittest.skipIf(cffi is None, "cffi is not installed")
    def test_cffi(self):
        ffi = cffi.FFI()
        self.check(ffi.cast("double(*)(double)", address_of("half")))
        typedcall.untag(plain.half)
        self.check(ffi.cast("void *", address_of("half")))
        typedcall.untag(plain.half)
        self.refused(ffi.cast("double(*)(int)", address_of("half")), "is not a C function of 'd->d'")
        self.refused(ffi.new("double[2]"), "not a pointer to a function")
        self.refused(ffi.NULL, "not the address", ValueError)

    @support.ON_CPYTHON
    def test_capsules(self):
        make = ctypes.pythonapi.PyCapsule_New
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                 ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
        self.check(make(address_of("half"), None, None))
        typedcall.untag(plain.half)
        name = b"double (double)"
        # Cython names capsules like this. Without "noexcept", the function may raise.
        typedcall.tag(plain.half, "d->d", make(address_of("half"), name, None))
        entry, = typedcall.entries(plain.half)
        self.assertEqual((entry.address, entry.flags & Flags.MAY_RAISE),
                         (address_of("half"), Flags.MAY_RAISE))

    def test_typed_functions_and_typed_callables(self):
        half = typedcall.resolve(typed.half, "d->d")
        typedcall.tag(plain.half, "d->d", half)
        entry, = typedcall.entries(plain.half)
        self.assertEqual((entry.address, entry.flags), (half.address, half.flags))
        typedcall.untag(plain.half)
        typedcall.tag(plain.half, "d->d", typed.half)
        self.assertEqual(typedcall.entries(plain.half)[0].address, half.address)
        typedcall.untag(plain.half)
        self.refused(typedcall.resolve(typed.inc, "l->l"), "is not a C function of 'd->d'")
        self.refused(typed.inc, "is not a C function of 'd->d'; it is 'l->l'")
        self.refused(typed.Scaler.scale, "takes self")

    @support.ON_CPYTHON
    def test_flags_of_the_source_are_kept(self):
        typedcall.tag(plain.add, "dd->d", typed.div, flags=Flags.SHORT)
        entry, = typedcall.entries(plain.add)
        self.assertEqual(entry.flags, Flags.MAY_RAISE | Flags.NEEDS_THREAD | Flags.SHORT)
        with self.assertRaises(ZeroDivisionError):
            typedcall.resolve(plain.add, "dd->d")(1.0, 0.0)


@support.ON_CPYTHON
class Adopt(unittest.TestCase):
    def test_a_ctypes_function(self):
        prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
        function = prototype(address_of("half"))
        self.assertEqual(typedcall.entries(function)[0].place, "ctypes")
        self.assertEqual(typedcall.publish(function), ["d->d"])
        self.assertEqual(typedcall.publish(function), ["d->d"])
        entry, = typedcall.entries(function)
        self.assertEqual((entry.place, entry.address), ("object row", address_of("half")))
        self.assertEqual(typedcall.resolve(function, "d->d")(3.0), 1.5)
        self.assertTrue(typedcall.untag(function))
        self.assertEqual(typedcall.entries(function)[0].place, "ctypes")

    def test_what_has_entries_already_and_what_has_none(self):
        self.assertEqual(typedcall.publish(typed.inc), ["l->l"])
        self.assertEqual(typedcall.publish(len), [])


@support.ON_CPYTHON
class TheEnd(unittest.TestCase):
    def test_tags_that_stand_when_the_interpreter_ends(self):
        code = """
import ctypes, sys
sys.path[:0] = %r
import plain_functions as plain, typedcall
class Loud:
    def __del__(self): print("gone")
def keep(x, loud=Loud()): return x
callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(keep)
typedcall.tag(plain.half, "d->d", callback)
def f(x): return x
typedcall.tag(f, "d->d", callback)
sys.keep = typedcall.resolve(plain.half, "d->d"), callback
typedcall.tag(plain.inc, "l->l", plain.addresses["inc"])
typedcall.untag(plain.inc)
""" % ([support.module_folder("plain_functions")],)
        for flags in ((), ("-X", "dev")):
            status, _, errors = support.python(*flags, "-c", code)
            self.assertEqual((status, errors), (0, ""))


class Refusals(unittest.TestCase):
    def test_what_goes_with_its_tag(self):
        class Scaler:
            def scale(self, x):
                return x

        with self.assertRaisesRegex(TypeError, "tag its __func__"):
            typedcall.tag(Scaler().scale, "d->d", plain.addresses["half"])

    def test_flags_that_are_no_bits(self):
        for flags, error in ((1 << 64, ValueError), (-1, ValueError), (1.5, TypeError)):
            with self.assertRaises(error):
                typedcall.tag(lambda x: x, "d->d", plain.addresses["half"], flags=flags)

    @support.ON_CPYTHON
    def test_adopted_callbacks_die(self):
        kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
        dead = []
        for _ in range(10):
            callback = kind(lambda x: x)
            self.assertEqual(typedcall.publish(callback), ["d->d"])
            weakref.finalize(callback, dead.append, 1)
            del callback
        gc.collect()
        self.assertGreaterEqual(len(dead), 9)
