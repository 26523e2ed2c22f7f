"""Tests ufuncs of NumPy and SciPy as typed functions."""

import ctypes
import sys
import types
import unittest
import unittest.mock
import warnings

import adapter_support
import support
import typedcall
from typedcall import Flags

numpy = adapter_support.library("numpy")
functions = support.build("typed_functions")


class Source(unittest.TestCase):
    def test_generic_loops(self):
        self.assertEqual(typedcall.signatures(numpy.cbrt)[:3], ["f->f", "d->d", "g->g"])
        entry = next(e for e in typedcall.entries(numpy.hypot) if e.signature == "dd->d")
        self.assertEqual((entry.place, entry.flags), ("NumPy", Flags.THREAD_SAFE))
        self.assertEqual(typedcall.resolve(numpy.hypot, "dd->d")(3.0, 4.0), 5.0)
        self.assertEqual(typedcall.resolve(numpy.hypot, "ff->f")(3.0, 4.0), 5.0)

    def test_what_a_loop_for_complex_numbers_calls_is_not_what_the_ufunc_does(self):
        # The C functions of these loops write through a pointer.
        for ufunc in (numpy.sin, numpy.sqrt, numpy.power, numpy.negative, numpy.float_power):
            listed = typedcall.signatures(ufunc)
            self.assertEqual([text for text in listed if "&" in text], [], ufunc)

    def test_sep_200s_example_is_numpys_sine(self):
        # numpy.sin uses SIMD code for doubles. See docs/how-to/libraries.md.
        with self.assertRaisesRegex(TypeError, r"^numpy\.sin does not offer 'd->d'; it offers 'g->g'$"):
            typedcall.resolve(numpy.sin, "d->d")
        with self.assertRaisesRegex(TypeError, r"^numpy\.sin does not offer 'dd->d'; it offers 'g->g'$"):
            typedcall.resolve(numpy.sin, "dd->d")
        typedcall.tag(numpy.sin, "d->d", typedcall.resolve(functions.half, "d->d").address)
        self.addCleanup(typedcall.untag, numpy.sin)
        self.assertEqual(typedcall.resolve(numpy.sin, "d->d")(5.0), 2.5)

    def test_other_loops_are_not_taken_for_one(self):
        self.assertEqual(typedcall.signatures(numpy.add), [])
        self.assertEqual(typedcall.signatures(typedcall.ufunc(functions.half)), [])

    def test_not_a_ufunc(self):
        from typedcall.native import _native
        from typedcall.numpy import _numpy_bridge

        with self.assertRaises(TypeError):
            _native.scalar_functions(len)
        with self.assertRaises(ValueError):
            _numpy_bridge.make_ufunc("x", "", (), b"\0", 1, 1)

    def test_no_other_capsule_passes_for_numpys_functions(self):
        import datetime

        from typedcall.record import capsules
        from typedcall.native import _native
        from typedcall.numpy import _numpy_bridge

        core = next(
            sys.modules[name]
            for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
            if name in sys.modules
        )
        api = core._UFUNC_API
        entry = typedcall.entries(functions.half)[0]
        memory = ctypes.create_string_buffer(4096)
        nameless = ctypes.pythonapi.PyCapsule_New
        nameless.restype, nameless.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
        named = capsules.make_capsule(capsules.capsule_address(api), "another name")
        others = [
            (core._ARRAY_API, "is not NumPy's"),
            (nameless(ctypes.addressof(memory), None, None), "is not NumPy's"),
            (datetime.datetime_CAPI, "incorrect name"),
            (named, "incorrect name"),
            (functions.half, "invalid PyCapsule"),
            (None, "invalid PyCapsule"),
        ]
        rows = ((entry.signature, int(entry.flags), entry.address, functions.half),)
        types = bytes([numpy.dtype(float).num] * 2)
        for capsule, reason in others:
            with self.subTest(capsule=capsule), unittest.mock.patch.object(core, "_UFUNC_API", capsule):
                with self.assertRaisesRegex(ValueError, reason):
                    _numpy_bridge.make_ufunc("half", "", rows, types, 1, 1)
                with self.assertRaisesRegex(ValueError, reason):
                    _native.scalar_functions(numpy.add)
        self.assertEqual(_numpy_bridge.make_ufunc("half", "", rows, types, 1, 1)(3.0), 1.5)
        # The version is read from NumPy's _ARRAY_API. Other capsules are refused.
        with unittest.mock.patch.object(core, "_ARRAY_API", api):
            with self.assertRaisesRegex(ValueError, "_ARRAY_API is not NumPy's"):
                _native.scalar_functions(numpy.add)

    def test_a_numpy_of_an_unknown_version(self):
        from typedcall.native import _native

        known = {name: sys.modules.pop(name) for name in list(sys.modules)
                 if name.endswith("._multiarray_umath")}
        self.addCleanup(sys.modules.update, known)
        (real,) = {id(module): module for module in known.values()
                   if hasattr(module, "_ARRAY_API")}.values()
        with self.assertRaisesRegex(ImportError, "NumPy has not been imported"):
            _native.scalar_functions(numpy.add)

        # This table imitates that of a future NumPy.
        version = ctypes.CFUNCTYPE(ctypes.c_uint)(lambda: 0x03000000)
        table = (ctypes.c_void_p * 3)(ctypes.cast(version, ctypes.c_void_p), None, id(numpy.ndarray))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
        fake = types.ModuleType("fake")
        fake.ndarray, fake.add, fake._UFUNC_API = numpy.ndarray, numpy.add, real._UFUNC_API
        fake._ARRAY_API = make(ctypes.addressof(table), None, None)
        with unittest.mock.patch.dict(sys.modules, {"numpy._core._multiarray_umath": fake}):
            with self.assertRaisesRegex(ImportError, "C ABI 0x3000000"):
                _native.scalar_functions(numpy.add)

    def test_scipy_special(self):
        special = adapter_support.library("scipy.special")
        checked = 0
        for name in dir(special):
            ufunc = getattr(special, name)
            if not isinstance(ufunc, numpy.ufunc) or ufunc.nout != 1:
                continue
            for signature in typedcall.signatures(ufunc):
                letters = typedcall.parse_signature(signature)[0]
                function = typedcall.resolve(ufunc, signature)
                for values in ((0.5, 0.25, 1.5, 0.75), (2.0, 3.0, 1.0, 4.0)):
                    arguments = [
                        {"Z": complex, "l": int, "n": int}.get(
                            letter[0], numpy.dtype("f4").type if letter == "f" else float
                        )(value)
                        for letter, value in zip(letters, values)
                    ]
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        expected = ufunc(*arguments)
                        got = function(
                            *[each.item() if hasattr(each, "item") else each for each in arguments]
                        )
                    numpy.testing.assert_allclose(
                        got,
                        expected,
                        1e-12,
                        1e-300,
                        err_msg=("%s %s %s" % (name, signature, arguments)),
                    )
                    checked += 1
        self.assertGreater(checked, 300)
