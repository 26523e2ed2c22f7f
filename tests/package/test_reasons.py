"""Tests the error messages when a function offers nothing, or not the requested signature."""

import contextlib
import ctypes
import ctypes.util
import io
import math
import sys
import tempfile
import unittest

import adapter_support
import support
import typedcall
from typedcall import Flags
from typedcall.cli import main

HAS_WORDS = "offers no native signature; 'd->d' was asked for: "


class Reasons(unittest.TestCase):
    def check(self, function, *words, signature="d->d"):
        """Checks that resolve()'s message contains these words."""
        with self.assertRaises(TypeError) as raised:
            typedcall.resolve(function, signature)
        for each in words:
            self.assertIn(each, str(raised.exception))
        return str(raised.exception)

    def check_nothing(self, function, *words):
        self.assertEqual(typedcall.signatures(function), [])
        return self.check(function, HAS_WORDS, *words)


@support.ON_CPYTHON  # for CPython
class OfCtypes(Reasons):
    def setUp(self):
        self.libm = ctypes.CDLL(ctypes.util.find_library("m"))

    def test_without_argtypes(self):
        self.libm.cos.restype = ctypes.c_double
        self.check_nothing(self.libm.cos, "its argtypes are not set: set argtypes and restype")

    def test_types_without_a_code(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]

        for prototype in (ctypes.CFUNCTYPE(ctypes.c_double, Pair), ctypes.CFUNCTYPE(Pair, ctypes.c_double)):
            self.check_nothing(prototype(4096), "no type code for the ctypes type", "Pair", "go by pointer")
        self.check_nothing(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_wchar)(4096), "c_wchar")

    def test_null_and_exceptions(self):
        double = ctypes.c_double
        self.check_nothing(ctypes.CFUNCTYPE(double, double)(), "it is a NULL pointer")
        self.check_nothing(ctypes.PYFUNCTYPE(None, double)(("PyErr_Clear", ctypes.pythonapi)),
                           "it may raise, being a PYFUNCTYPE, which a result 'v' cannot report")

    def test_all_who_ask_say_it(self):
        callback = "double (*)(double, void *)"
        for ask in (typedcall.ctypes_function, lambda f: typedcall.callback(f, callback)):
            with self.assertRaisesRegex(TypeError, "its argtypes are not set"):
                ask(self.libm.sin)

    def test_the_command_line_says_it(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
            with open(folder + "/undeclared.py", "w") as source:
                source.write("import ctypes, ctypes.util\n"
                             "sin = ctypes.CDLL(ctypes.util.find_library('m')).sin\n")
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            self.assertNotEqual(main(["show", "undeclared:sin"]), 0)
        self.assertIn("its argtypes are not set", said.getvalue())


class OfPython(Reasons):
    def test_it_has_no_tag(self):
        self.check(math.cos, "it has no tag", "typedcall.tag()")

    @support.ON_CPYTHON  # PyPy does not support this
    def test_how_to_ask_for_what_differs(self):
        libm = ctypes.CDLL(ctypes.util.find_library("m"))
        typedcall.tag(math.sqrt, "d->d", libm.sqrt, flags=Flags.DIFFERS)
        self.addCleanup(typedcall.untag, math.sqrt)
        self.check_asking(math.sqrt, {}, "Flags.DIFFERS")

    @support.ON_CPYTHON  # PyPy does not support this
    def test_how_to_ask_for_what_needs_more(self):
        functions = support.build("typed_functions")
        self.check_asking(functions.div, {"capabilities": 0}, "Flags.NEEDS_THREAD | Flags.MAY_RAISE", "dd->d")
        # If the types differ, there is no hint.
        with self.assertRaises(TypeError) as raised:
            typedcall.resolve(functions.div, "l->l", capabilities=0)
        self.assertNotIn("capabilities=", str(raised.exception))

    def check_asking(self, function, options, flags, signature="d->d"):
        """Checks that the message names the `capabilities` that are needed."""
        with self.assertRaisesRegex(TypeError, "asks with capabilities=") as raised:
            typedcall.resolve(function, signature, **options)
        told = str(raised.exception).split("capabilities=")[1]
        self.assertEqual(told, flags)
        self.assertTrue(callable(typedcall.resolve(function, signature, capabilities=eval(told))))


@support.ON_CPYTHON
class OfCython(Reasons):
    @classmethod
    def setUpClass(cls):
        adapter_support.library("Cython")
        made = adapter_support.compile_pyx(support.MODULES / "cython_functions.pyx",
                                           support.temporary(cls.addClassCleanup))
        cls.exports = support.load("cython_functions", made)

    def test_types_of_its_own(self):
        for name in ("parent", "paint"):
            self.check_nothing(getattr(self.exports, name), "its type has no signature: ",
                               f"cython_functions.__pyx_capi__['{name}']")
        # The suggested tag works.
        typedcall.tag(self.exports.parent, "L->L", self.exports.__pyx_capi__["parent"])
        self.addCleanup(typedcall.untag, self.exports.parent)
        self.assertEqual(typedcall.resolve(self.exports.parent, "L->L")(9), 4)

    def test_no_way_to_report_an_exception(self):
        self.check_nothing(self.exports.turn, "cannot report an exception; typedcall.tag_pyx_capi(module, flags=...)")

    def test_optional_arguments(self):
        self.check(self.exports.optional, "it offers 'diP->d'", "pass 0 and None for them")

    def test_not_exported(self):
        self.check_nothing(self.exports.not_exported, "that a .pxd file declares")

    def test_how_to_ask(self):
        self.check(self.exports.scale, "asks with capabilities=Flags.NEEDS_THREAD | Flags.MAY_RAISE | Flags.DIFFERS",
                   signature="di->d")

    def test_capsules(self):
        capsule = typedcall.record.capsules.make_capsule
        self.check_nothing(self.exports.__pyx_capi__["parent"], "its type has no signature")
        message = self.check_nothing(capsule(4096, "somebody.else"), "'somebody.else', is not a C declaration")
        self.assertNotIn("is not callable", message)

    def test_what_is_left_out_of_a_module(self):
        tagged = []
        with self.assertWarnsRegex(RuntimeWarning, "not tagged: nothing: its result .* paint: its type .* parent: ") as said:
            tagged += typedcall.tag_pyx_capi(self.exports)
        for each in tagged:
            function = getattr(self.exports, each)
            for variant in [*getattr(function, "__signatures__", {}).values(), function]:
                self.addCleanup(typedcall.untag, variant)
        self.assertEqual(said.filename, __file__)


class OfLibraries(Reasons):
    @support.ON_CPYTHON
    def test_of_cffi(self):
        ffi = adapter_support.library("cffi").FFI()
        ffi.cdef("typedef struct { int a; } pair; int printf(const char *, ...);")
        printf = ffi.dlopen(None).printf
        self.check_nothing(printf, "variable arguments", "write a C function that calls it")
        self.check_nothing(ffi.cast("double(*)(pair)", 4096), "'pair' of cffi; structs and unions go by pointer")
        self.check_nothing(ffi.cast("double(*)(double)", 0), "it is a NULL pointer")

    @support.ON_CPYTHON
    def test_of_numba(self):
        numba = adapter_support.library("numba")
        self.check_nothing(numba.njit(lambda x: x), "numba.cfunc")
        of_tuple = numba.cfunc("float64(UniTuple(float64, 2))")(lambda x: x[0])
        self.check_nothing(of_tuple, "no type code for the Numba type")

    @support.ON_CPYTHON
    def test_of_numpy(self):
        numpy = adapter_support.library("numpy")
        self.check_nothing(numpy.frompyfunc(abs, 1, 1), "the loops of this ufunc")

    @support.ON_CPYTHON
    def test_of_scipy(self):
        scipy = adapter_support.library("scipy")
        capsule = typedcall.record.capsules.make_capsule(4096, "double (struct x)")
        self.check_nothing(scipy.LowLevelCallable(capsule), "no type code for the C type 'struct x'")

    @support.ON_CPYTHON  # CPython passes self
    def test_of_what_was_resolved_of_a_method(self):
        scaler = support.build("typed_functions").Scaler(2.0)
        resolved = typedcall.resolve(scaler.scale, "d->d")
        self.check_nothing(resolved, "resolve the method itself")
