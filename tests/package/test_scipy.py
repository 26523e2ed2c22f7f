"""Tests typed functions as SciPy's LowLevelCallable, and LowLevelCallables as typed functions."""

import array
import ctypes
import gc
import math
import threading
import unittest
import weakref

import adapter_support
import support
import typedcall
from typedcall import Flags
from typedcall.record.capsules import make_capsule

scipy = adapter_support.library("scipy")
integrate = adapter_support.library("scipy.integrate")
ndimage = adapter_support.library("scipy.ndimage")
numpy = adapter_support.library("numpy")
functions = support.build("typed_functions")
callbacks = support.build("scipy_callbacks")


def pointer_to(value):
    room = ctypes.c_double(value)
    pointer = ctypes.cast(ctypes.pointer(room), ctypes.c_void_p)
    pointer.kept = room
    return pointer


class Sink(unittest.TestCase):
    def test_a_signature_is_a_str(self):
        with self.assertRaisesRegex(TypeError, "a signature is a str, not 'int'"):
            typedcall.low_level_callable(callbacks.plain, 3)

    def test_quad(self):
        made = typedcall.low_level_callable(callbacks.plain)
        self.assertIsInstance(made, scipy.LowLevelCallable)
        self.assertEqual(made.signature, "double (double)")
        self.assertAlmostEqual(integrate.quad(made, 0, 2)[0], 6.0)

    def test_quad_with_user_data(self):
        made = typedcall.low_level_callable(callbacks.with_data, user_data=pointer_to(5.0))
        self.assertEqual(made.signature, "double (double, void *)")
        self.assertAlmostEqual(integrate.quad(made, 0, 2)[0], 10.0)

    def test_quad_of_what_waits_for_a_thread(self):
        module = support.build("thread_functions")
        for f, arguments in ((module.waits_for_unit, ()), (module.waits_for_sum, (1.0,)),
                             (module.waits_for_array, (1.0,))):
            with self.subTest(f.__name__):
                is_over = threading.Event()

                def let_go():
                    while not is_over.wait(0.001):
                        if module.are_waiting():
                            module.let_go()

                entry, = typedcall.entries(f)

                def waits(*arguments):
                    raise NotImplementedError

                typedcall.tag(waits, entry.signature, entry.address, flags=Flags.ACQUIRES_GIL | Flags.THREAD_SAFE)
                made = typedcall.low_level_callable(waits)
                other = threading.Thread(target=let_go)
                other.start()
                try:
                    found = integrate.quad(made, 0, 2, args=arguments)[0]
                finally:
                    is_over.set()
                    other.join()
                self.assertAlmostEqual(found, 2.0)

    def test_quad_with_arguments(self):
        made = typedcall.low_level_callable(callbacks.of_many)
        self.assertEqual(made.signature, "double (int, double *)")
        self.assertAlmostEqual(integrate.quad(made, 0, 2, args=(7.0,))[0], 14.0)

    def test_what_does_not_write_where_scipy_lets_it(self):
        def of_many(*arguments):
            raise NotImplementedError

        entry, = [each for each in typedcall.entries(callbacks.of_many) if each.signature == "i&kd->d"]
        typedcall.tag(of_many, "double (int n, const double x[n])", entry.address, flags=entry.flags)
        self.assertEqual(typedcall.signatures(of_many), ["i&kd->d"])
        made = typedcall.low_level_callable(of_many)
        self.assertEqual(made.signature, "double (int, double *)")
        self.assertAlmostEqual(integrate.quad(made, 0, 2, args=(7.0,))[0], 14.0)

    def test_nquad(self):
        limits = [(0, 2), (0, 4)]
        self.assertAlmostEqual(
            integrate.nquad(typedcall.low_level_callable(callbacks.of_many), limits)[0], 16.0
        )
        made = typedcall.low_level_callable(callbacks.of_many_with_data, user_data=pointer_to(0.5))
        self.assertEqual(made.signature, "double (int, double *, void *)")
        self.assertAlmostEqual(integrate.nquad(made, limits)[0], 8.0)

    def test_functions_of_several_doubles(self):
        made = typedcall.low_level_callable(functions.add)
        self.assertEqual(made.signature, "double (int, double *, void *)")
        self.assertAlmostEqual(integrate.nquad(made, [(0, 2), (0, 4)])[0], 24.0)
        self.assertAlmostEqual(integrate.quad(made, 0, 2, args=(7.0,))[0], 16.0)
        # Not all arguments fit into registers.
        for count in (3, 8, 9, 20):
            made = typedcall.low_level_callable(getattr(callbacks, "sum_of_%d" % count))
            weights = [float(each) for each in range(2, count + 1)]
            found = integrate.quad(made, 0, 2, args=tuple(weights))[0]
            self.assertAlmostEqual(found, 2.0 + 2 * sum(i * w for i, w in enumerate(weights, 2)))

    def test_another_number_of_arguments(self):
        def add(x, y):
            raise NotImplementedError

        entry, = typedcall.entries(functions.add)
        for flags in (entry.flags, Flags.ACQUIRES_GIL | Flags.THREAD_SAFE):
            with self.subTest(flags=flags):
                typedcall.tag(add, entry.signature, entry.address, flags=flags)
                made = typedcall.low_level_callable(add)
                for arguments, expected in (((7.0, 8.0), numpy.nan), ((), numpy.nan), ((7.0,), 16.0)):
                    found = integrate.quad(made, 0, 2, args=arguments, full_output=1)[0]
                    numpy.testing.assert_allclose(found, expected, equal_nan=True)
                typedcall.untag(add)

    def test_scipy_s_own_signatures_come_first(self):
        libm = ctypes.CDLL("libm.so.6")

        def tagged(*arguments):
            return 0.0

        typedcall.tag(tagged, ["dd->d", "d->d"], [
            ctypes.cast(function, ctypes.c_void_p).value for function in (libm.hypot, libm.fabs)])
        made = typedcall.low_level_callable(tagged)
        self.assertEqual(made.signature, "double (double)")
        self.assertAlmostEqual(integrate.quad(made, -1, 1)[0], 1.0)
        made = typedcall.low_level_callable(tagged, "dd->d")
        self.assertAlmostEqual(integrate.quad(made, 0, 1, args=(0.0,))[0], 0.5)

    def test_from_a_low_level_callable(self):
        made = typedcall.low_level_callable(functions.add)
        again = typedcall.low_level_callable(made)
        self.assertAlmostEqual(integrate.quad(again, 0, 2, args=(7.0,))[0], 16.0)
        with_data = typedcall.low_level_callable(callbacks.with_data, user_data=pointer_to(5.0))
        again = typedcall.low_level_callable(with_data)
        self.assertAlmostEqual(integrate.quad(again, 0, 2)[0], 10.0)
        # Without its data, the thunk returns nan.
        f = typedcall.resolve(made, "i&dP->d")
        self.assertTrue(math.isnan(f(2, array.array("d", [1.0, 2.0]), None)))

    def test_flags_survive(self):
        made = typedcall.low_level_callable(functions.half)
        self.assertEqual(typedcall.entries(made)[0].flags, typedcall.entries(functions.half)[0].flags)
        callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x)
        for made in (typedcall.low_level_callable(callback), scipy.LowLevelCallable(callback)):
            again = scipy.LowLevelCallable(scipy.LowLevelCallable(made))
            self.assertEqual(typedcall.entries(again)[0].flags, Flags.ACQUIRES_GIL)
        callback = ctypes.CFUNCTYPE(*[ctypes.c_double] * 3)(lambda x, y: x * y)
        entry, = typedcall.entries(typedcall.low_level_callable(callback))
        self.assertEqual((entry.signature, entry.flags & 0xFFFF), ("i&dP->d", Flags.ACQUIRES_GIL))

    def test_another_number_of_doubles_is_not_a_number(self):
        made = typedcall.low_level_callable(functions.add)
        for arguments in ((), (1.0, 2.0)):
            with self.assertWarns(integrate.IntegrationWarning):
                found = integrate.quad(made, 0, 2, args=arguments)[0]
            self.assertTrue(math.isnan(found))

    def test_what_is_behind_an_array_stays_alive(self):
        callback = ctypes.CFUNCTYPE(*[ctypes.c_double] * 3)(lambda x, y: x * y)
        made = typedcall.low_level_callable(callback)
        self.assertIs(made.typed_function, callback)
        gone = weakref.ref(callback)
        del callback
        gc.collect()
        self.assertAlmostEqual(integrate.nquad(made, [(0, 2), (0, 4)])[0], 16.0)
        del made
        gc.collect()
        self.assertIsNone(gone())

    def test_generic_filter(self):
        image = numpy.arange(20.0).reshape(4, 5)
        made = typedcall.low_level_callable(callbacks.window)
        self.assertEqual(made.signature, "int (double *, intptr_t, double *, void *)")
        expected = ndimage.generic_filter(image, numpy.sum, size=3)
        self.assertTrue(numpy.allclose(ndimage.generic_filter(image, made, size=3), expected))
        made = typedcall.low_level_callable(callbacks.window, user_data=pointer_to(100.0))
        self.assertTrue(numpy.allclose(ndimage.generic_filter(image, made, size=3), expected + 100))

    def test_generic_filter1d(self):
        image = numpy.arange(20.0).reshape(4, 5)
        made = typedcall.low_level_callable(callbacks.line)
        self.assertTrue(
            numpy.allclose(ndimage.generic_filter1d(image, made, filter_size=3), 2 * image)
        )

    def test_functions_of_buffers_are_filters(self):
        buffers = support.build("buffer_provider")
        image = numpy.arange(20.0).reshape(4, 5)
        rows = support.build("callback_functions")
        made = typedcall.low_level_callable(rows.total)
        self.assertEqual(made.signature, "int (double *, intptr_t, double *, void *)")
        gc.collect()
        expected = ndimage.generic_filter(image, numpy.sum, size=3)
        self.assertTrue(numpy.allclose(ndimage.generic_filter(image, made, size=3), expected))

        def in_python(line, out):
            typedcall.resolve(rows.cumulated, "*kd*d->v")(line, out)

        made = typedcall.low_level_callable(rows.cumulated, "*kd*d->v")
        expected = ndimage.generic_filter1d(image, in_python, filter_size=3)
        self.assertTrue(numpy.allclose(ndimage.generic_filter1d(image, made, filter_size=3), expected))
        with self.assertRaisesRegex(TypeError, "SciPy calls such functions as filters only: '\\*kd->d'"):
            typedcall.low_level_callable(buffers.dot)
        with self.assertRaisesRegex(TypeError, "may fall back"):
            typedcall.low_level_callable(buffers.mean_or_fall_back)
        with self.assertRaisesRegex(TypeError, "no last argument for user data"):
            typedcall.low_level_callable(rows.total, user_data=pointer_to(1.0))

    def test_geometric_transform(self):
        image = numpy.arange(20.0).reshape(4, 5)
        made = typedcall.low_level_callable(callbacks.place)
        moved = ndimage.geometric_transform(image, made, order=0)
        self.assertEqual(moved[0, 0], image[1, 1])

    def test_the_signature_may_be_given(self):
        for text in ("d->d", "double (double)"):
            made = typedcall.low_level_callable(functions.half, text)
            self.assertAlmostEqual(integrate.quad(made, 0, 2)[0], 1.0)
        with self.assertRaisesRegex(ValueError, "SciPy has no callbacks"):
            typedcall.low_level_callable(functions.mix, "dldl->d")
        with self.assertRaises(ValueError):
            typedcall.low_level_callable(functions.mix, "no signature")

    def test_what_scipy_cannot_call_is_refused(self):
        with self.assertRaisesRegex(TypeError, "not a SciPy signature"):
            typedcall.low_level_callable(functions.mix)
        with self.assertRaisesRegex(
            TypeError, r"may raise, and SciPy cannot handle exceptions; .* \(nan, say\), or one that falls back"
        ):
            typedcall.low_level_callable(functions.div)
        with self.assertRaisesRegex(TypeError, "takes self"):
            typedcall.low_level_callable(functions.Scaler(1.0).scale, "d->d")
        with self.assertRaisesRegex(TypeError, "offers no typed function"):
            typedcall.low_level_callable(math.sin)
        with self.assertRaisesRegex(TypeError, "no last argument for user data"):
            typedcall.low_level_callable(functions.half, user_data=pointer_to(1.0))
        with self.assertRaisesRegex(TypeError, "no last argument for user data"):
            typedcall.low_level_callable(functions.add, user_data=pointer_to(1.0))

    def test_the_function_stays_alive(self):
        callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 2 * x)
        made = [typedcall.low_level_callable(callback) for _ in range(100)][-1]
        del callback
        gc.collect()
        self.assertAlmostEqual(integrate.quad(made, 0, 2)[0], 4.0)
        del made
        gc.collect()

    def test_the_name_outlives_the_capsule(self):
        from typedcall.record.capsules import capsule_name, make_capsule

        for text in ("double (double)", "of no other test (%s)" % ("double, " * 8)):
            capsule = make_capsule(4096, text)
            gc.collect()
            over_it = [ctypes.create_string_buffer(b"x" * len(text)) for _ in range(1000)]
            self.assertEqual(capsule_name(capsule), text)
            del over_it


class Source(unittest.TestCase):
    def test_of_ctypes(self):
        libm = ctypes.CDLL("libm.so.6")
        libm.cos.argtypes, libm.cos.restype = [ctypes.c_double], ctypes.c_double
        made = scipy.LowLevelCallable(libm.cos)
        (entry,) = typedcall.entries(made)
        self.assertEqual((entry.signature, entry.place), ("d->d", "SciPy"))
        self.assertEqual(entry.flags, Flags.THREAD_SAFE)
        self.assertEqual(typedcall.resolve(made, "d->d")(0.0), 1.0)

    def test_of_a_python_callback(self):
        callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 2 * x)
        (entry,) = typedcall.entries(scipy.LowLevelCallable(callback))
        self.assertEqual(entry.flags, Flags.ACQUIRES_GIL)

    def test_of_cython(self):
        special = adapter_support.library("scipy.special.cython_special")
        made = scipy.LowLevelCallable.from_cython(special, "j0")
        self.assertEqual(typedcall.signatures(made), ["d->d"])
        self.assertEqual(typedcall.resolve(made, "d->d")(0.0), 1.0)

    def test_of_cython_s_functions_of_objects(self):
        # A capsule's name does not distinguish `list` from `object`.
        made = scipy.LowLevelCallable(make_capsule(4096, "PyObject *(PyObject *)"))
        (entry,) = typedcall.entries(made)
        self.assertEqual(entry.flags, Flags.NEEDS_THREAD | Flags.MAY_RAISE | Flags.DIFFERS)

    def test_user_data_is_an_argument(self):
        made = typedcall.low_level_callable(callbacks.with_data, user_data=pointer_to(5.0))
        self.assertEqual(typedcall.signatures(made), ["dP->d"])

    def test_a_filter_reports_errors_by_zero_which_no_flag_says(self):
        (entry,) = typedcall.entries(typedcall.low_level_callable(callbacks.window))
        self.assertEqual(entry.signature, "&dn&dP->i")
        self.assertEqual(entry.flags, Flags.NEEDS_THREAD | Flags.DIFFERS)

    def test_a_function_tagged_with_one(self):
        plain = support.build("plain_functions")
        libm = ctypes.CDLL("libm.so.6")
        libm.fabs.argtypes, libm.fabs.restype = [ctypes.c_double], ctypes.c_double
        typedcall.tag(plain.half, "d->d", scipy.LowLevelCallable(libm.fabs))
        self.addCleanup(typedcall.untag, plain.half)
        self.assertEqual(typedcall.resolve(plain.half, "d->d")(-2.0), 2.0)

    def test_one_of_a_declaration_without_a_signature_is_an_address(self):
        address = ctypes.cast(ctypes.CDLL("libm.so.6").fabs, ctypes.c_void_p).value
        made = scipy.LowLevelCallable(make_capsule(address, "struct unknown (double)"))
        self.assertEqual(typedcall.entries(made), [])

        def tagged(x):
            return abs(x)

        typedcall.tag(tagged, "d->d", made)
        self.assertEqual(typedcall.resolve(tagged, "d->d")(-2.0), 2.0)
