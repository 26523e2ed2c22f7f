"""Tests typedcall.callback(). The tests call the callbacks through ctypes, as a library would."""

import ctypes
import gc
import math
import unittest
import weakref

import typedcall
from callback_support import OF_NUMBER, NLOPT, CUBATURE, GSL_ODE, MONTE, SCIPY, call, doubles, functions


class Shapes(unittest.TestCase):
    def make(self, f, declaration, compiled, **options):
        made = typedcall.callback(f, declaration, **options)
        self.assertIs(made.is_compiled, compiled, declaration)
        return made

    def test_of_a_number(self):
        for f, compiled in [(functions.half, True), (functions.half_in_one_thread, False),
                            (functions.half_of_float, None)]:
            if compiled is None:  # a double is not a float
                with self.assertRaisesRegex(TypeError, "has nothing for"):
                    typedcall.callback(f, OF_NUMBER)
                continue
            made = self.make(f, OF_NUMBER, compiled)
            self.assertEqual(call(made, "dP->d", 3.0, ...), 1.5)
            self.assertTrue(math.isnan(call(made, "dP->d", math.nan, ...)))
            made.check()
        made = self.make(functions.root, OF_NUMBER, True)
        self.assertEqual(call(made, "dP->d", 9.0, ...), 3.0)

    def test_the_declared_type_comes_before_an_equivalent_one(self):
        """All three types are the same on LP64. The addresses show the entry."""
        def count(x):
            raise NotImplementedError

        for order in (("l", "q", "n"), ("n", "l", "q"), ("q", "n", "l")):
            signatures = [each + "->" + each for each in order]
            made = {each: ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(lambda x, at=at: at)
                    for at, each in enumerate(order)}
            typedcall.tag(count, signatures, list(made.values()), flags=0)
            for letters, name in (("l", "long"), ("q", "long long"), ("n", "intptr_t")):
                with typedcall.callback(count, "%s (*)(%s, void *)" % (name, name)) as callback:
                    self.assertEqual(order[call(callback, "lP->l", 1, ...)], letters, (order, name))
            typedcall.untag(count)

    def test_a_gradient(self):
        for f in (functions.squares, functions.checked_squares):
            made = self.make(f, NLOPT, True)
            x, gradient = doubles(1, 2, 3), doubles(0, 0, 0)
            self.assertEqual(call(made, "IPPP->d", 3, x, gradient, ...), 14)
            self.assertEqual(list(gradient), [2, 4, 6])
            self.assertEqual(call(made, "IPPP->d", 3, x, None, ...), 14)
            self.assertEqual(call(made, "IPPP->d", 0, x, None, ...), 0)

    def test_no_gradient_where_one_is_wanted(self):
        for f, compiled in [(functions.total, True), (functions.checked_total, True),
                            (functions.raising_total, False)]:
            made = self.make(f, NLOPT, compiled)
            x = doubles(1, 2, 3)
            self.assertEqual(call(made, "IPPP->d", 3, x, None, ...), 6)
            self.assertTrue(math.isnan(call(made, "IPPP->d", 3, x, doubles(0, 0, 0), ...)))
            with self.assertRaisesRegex(ValueError, "gradient"):
                made.check()
            self.assertEqual(call(made, "IPPP->d", 2, x, None, ...), 3)

    def test_elements_as_numbers(self):
        made = self.make(functions.product, NLOPT, False)
        self.assertEqual(call(made, "IPPP->d", 2, doubles(3, 5), None, ...), 15)
        self.assertTrue(math.isnan(call(made, "IPPP->d", 3, doubles(3, 5, 7), None, ...)))
        with self.assertRaisesRegex(ValueError, "more or fewer elements"):
            made.check()
        made = self.make(functions.product, CUBATURE, False)
        value = doubles(0)
        self.assertEqual(call(made, "IPPIP->i", 2, doubles(3, 5), ..., 1, value), 0)
        self.assertEqual(list(value), [15])

    def test_a_length_behind_its_array(self):
        made = self.make(functions.total, MONTE, True)
        self.assertEqual(call(made, "PNP->d", doubles(1, 2, 3), 3, ...), 6)
        made = self.make(functions.total, SCIPY, True)
        self.assertEqual(call(made, "iPP->d", 3, doubles(1, 2, 3), ...), 6)
        self.assertTrue(math.isnan(call(made, "iPP->d", -1, doubles(1, 2, 3), ...)))
        with self.assertRaisesRegex(ValueError, "negative or too large"):
            made.check()
        made = self.make(functions.total, "double(double *x, int64_t n, double *y, int64_t m, void *p)", False)
        self.assertEqual(call(made, "PlPlP->d", doubles(1, 2), 2, None, 0, ...), 3)

    def test_a_state_of_known_length(self):
        for f in (functions.decay, functions.checked_decay, functions.decay_with_status):
            made = self.make(f, GSL_ODE, True)
            rate = doubles(0, 0)
            self.assertEqual(call(made, "dPPP->i", 2.0, doubles(1, 3), rate, ...), 0)
            self.assertEqual(list(rate), [-2, -6])
            made = self.make(f, "void(double, double *, double *, void *)".replace("double *", "double y[2]"),
                             f is not functions.decay_with_status) if f is not functions.decay_with_status else None
            if made is not None:
                rate = doubles(0, 0)
                call(made, "dPPP->v", 2.0, doubles(1, 3), rate, ...)
                self.assertEqual(list(rate), [-2, -6])
        made = self.make(functions.decay_with_status, GSL_ODE, True)
        self.assertEqual(call(made, "dPPP->i", -2.0, doubles(1, 3), rate, ...), 7)
        made.check()

    def test_values_in_an_array_and_one_value(self):
        made = self.make(functions.cumulated, CUBATURE, True)
        values = doubles(0, 0, 0)
        self.assertEqual(call(made, "IPPIP->i", 2, doubles(1, 2), ..., 3, values), 0)
        self.assertEqual(list(values), [1, 3, 4])
        for f in (functions.total, functions.checked_total):
            made = self.make(f, CUBATURE, True)
            value = doubles(0)
            self.assertEqual(call(made, "IPPIP->i", 2, doubles(1, 2), ..., 1, value), 0)
            self.assertEqual(list(value), [3])
            self.assertEqual(call(made, "IPPIP->i", 2, doubles(1, 2), ..., 2, doubles(0, 0)), -1)
            with self.assertRaisesRegex(ValueError, "returns one value, but the library"):
                made.check()

    def test_a_second_array_that_is_const(self):
        # Without const, NULL would be passed as an empty array.
        made = self.make(functions.dot, "int(double t, const double x[1], const double y[1], void *data)", False)
        self.assertEqual(call(made, "dPPP->i", 0.0, doubles(2), doubles(3), ...), 6)
        self.assertEqual(call(made, "dPPP->i", 0.0, doubles(2), None, ...), -1)
        self.assertRaisesRegex(ValueError, "passes NULL", made.check)

    def test_compiled_shapes_need_the_same_roles(self):
        views = {"N_Vector": (1, 2), "Other": (1, 3)}
        of_pointers = lambda t, y, rate: 0
        typedcall.tag(of_pointers, "dPP->i", 1, flags=typedcall.Flags.THREAD_SAFE)
        for f, declaration in [
                (functions.squares, "double(unsigned n, const double x[2], double g[n], void *p)"),
                (functions.total, "int(unsigned n, const double x[n], void *p, unsigned m, double y[n * m])"),
                (functions.cumulated, "int(unsigned n, const double x[m], void *p, unsigned m, double y[n])"),
                (functions.decay, "int(double t, N_Vector y, Other rate, void *p)"),
                (of_pointers, "int(double t, void *y, void *rate, void *p)")]:
            self.make(f, declaration, False, arrays=views)

    def test_products_of_lengths(self):
        made = self.make(functions.cumulated, "int(unsigned ndim, size_t npts, const double x[ndim * npts],"
                         " void *fdata, unsigned fdim, double fval[fdim * npts])", False)
        values = doubles(*[0] * 6)
        self.assertEqual(call(made, "INPPIP->i", 2, 2, doubles(1, 2, 3, 4), ..., 3, values), 0)
        self.assertEqual(list(values), [1, 3, 6, 10, 11, 13])
        self.assertEqual(call(made, "INPPIP->i", 2, 2**63, doubles(1), ..., 3, values), -1)
        self.assertRaisesRegex(ValueError, "too large", made.check)

    def test_a_type_of_the_librarys(self):
        class Vector(ctypes.Structure):
            _fields_ = [("values", ctypes.c_void_p), ("count", ctypes.c_int64)]

        elements = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
            lambda at: Vector.from_address(at).values)
        length = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda at: Vector.from_address(at).count)
        y, rate = doubles(1, 3), doubles(0, 0)
        vectors = [Vector(ctypes.addressof(each), 2) for each in (y, rate)]
        addresses = [ctypes.addressof(each) for each in vectors]
        declaration = "int (*)(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data)"
        for f in (functions.decay, functions.checked_decay, functions.decay_with_status):
            made = self.make(f, declaration, True, arrays={"N_Vector": (elements, length)})
            self.assertEqual(call(made, "dPPP->i", 2.0, *addresses, ...), 0)
            self.assertEqual(list(rate), [-2, -6])
            self.assertEqual(call(made, "dPPP->i", 2.0, None, addresses[1], ...), -1)
            self.assertRaisesRegex(ValueError, "passes NULL", made.check)
            values = vectors[1].values
            for at, count, why in ((None, 2, "gave NULL as an array"), (values, -1, "negative")):
                vectors[1].values, vectors[1].count = at, count  # in device memory, or an invalid count
                self.assertEqual(call(made, "dPPP->i", 2.0, *addresses, ...), -1)
                self.assertRaisesRegex(ValueError, why, made.check)
            vectors[1].values, vectors[1].count = values, 2
        pair = {"N_Vector": (ctypes.cast(elements, ctypes.c_void_p).value,
                             ctypes.cast(length, ctypes.c_void_p).value)}
        made = self.make(functions.total, "double(const N_Vector y, void *data)", False, arrays=pair)
        self.assertEqual(call(made, "PP->d", addresses[0], ...), 4)
        for wrong, error in [((0, 1), ValueError), (("a", 1), TypeError)]:
            with self.assertRaises(error):
                typedcall.callback(functions.decay, declaration, arrays={"N_Vector": wrong})
        # A parameter's name is not a type, and an array of vectors is not a vector.
        self.make(functions.half, "double(double N_Vector, void *p)", True, arrays=pair)
        with self.assertRaisesRegex(ValueError, "an array of arrays"):
            typedcall.callback(functions.total, "double(N_Vector y[2], void *p)", arrays=pair)

    def test_it_keeps_the_functions_of_a_type_whatever_becomes_of_the_mapping(self):
        given = {"vec": (ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda at: at),
                         ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda at: 2))}
        kept = [weakref.ref(each) for each in given["vec"]]
        made = typedcall.callback(functions.total, "double(const vec y, void *data)", arrays=given)
        given.clear()
        gc.collect()
        self.assertNotIn(None, [each() for each in kept])
        values = doubles(1, 3)
        self.assertEqual(call(made, "PP->d", ctypes.addressof(values), ...), 4)
        del made
        gc.collect()
        self.assertEqual([each() for each in kept], [None, None])

    def test_conversions_that_lose_nothing(self):
        made = self.make(functions.half, "double(float x, void *p)", False)
        self.assertEqual(call(made, "fP->d", 0.5, ...), 0.25)
        made = self.make(functions.half, "double(int x, void *p)", False)
        self.assertEqual(call(made, "iP->d", -3, ...), -1.5)
        made = self.make(functions.twice, "int64_t(int x, void *p)", False)
        self.assertEqual(call(made, "iP->l", -(2**31), ...), -(2**32))
        for refused in ("double(long x, void *p)", "float(double x, void *p)"):
            with self.assertRaises(TypeError):
                typedcall.callback(functions.half, refused)
        with self.assertRaises(TypeError):  # the function would write to const data
            typedcall.callback(functions.squares, "double(unsigned n, const double *x, const double *g)")

    def test_narrow_results_fill_a_register(self):
        made = self.make(functions.low, "uint8_t(unsigned x, void *p)", False)
        self.assertEqual(call(made, "IP->l", 0x1FF, ...) & 0xFFFFFFFF, 255)
        made = self.make(functions.is_small, "bool(double x, void *p)", False)
        self.assertEqual([call(made, "dP->?", x, ...) for x in (0.5, 1.5)], [True, False])

    def test_without_a_data_pointer(self):
        made = self.make(functions.compare, "int (double, double)", False)
        self.assertIsNone(made.data)
        self.assertEqual([call(made, "dd->i", 2.0, y) for y in (1.0, 2.0, 3.0)], [1, 0, -1])
        made = self.make(functions.store, "void(double x, double *to, void *data)", False)
        to = doubles(0)
        call(made, "dPP->v", 4.0, to, ...)
        self.assertEqual(list(to), [5])

    def test_the_overload_that_fits(self):
        made = self.make(functions.half_or_total, NLOPT, True)
        self.assertEqual(made.entry.signature, "*kd->d")
        made = self.make(functions.half_or_total, OF_NUMBER, True)
        self.assertEqual(made.entry.signature, "d->d")

    def test_self(self):
        made = self.make(functions.of_self, OF_NUMBER, False)
        self.assertEqual(call(made, "dP->d", 1.0, ...), 2)

    def test_the_data_pointer_among_several(self):
        made = self.make(functions.half, "double(void *params, double x)", False)
        self.assertEqual(call(made, "Pd->d", ..., 1.0), 0.5)
        with self.assertRaisesRegex(TypeError, "asks for 'dP->d'"):  # a `void **` is not a data pointer
            typedcall.callback(functions.half, "double(void *own, double x, void **p)")
        made = typedcall.callback(functions.calls, "long(void)")
        self.assertIsNone(made.data)
        self.assertGreaterEqual(call(made, "->l"), 0)

    def test_a_comparator_has_no_data_pointer(self):
        def larger(one, other):
            return one > other

        @ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2)
        def compare(one, other):
            one, other = (ctypes.c_double.from_address(each).value for each in (one, other))
            return (one > other) - (one < other)

        typedcall.tag(larger, "PP->i", ctypes.cast(compare, ctypes.c_void_p), flags=typedcall.Flags.ACQUIRES_GIL)
        made = self.make(larger, "int (*)(const void *a, const void *b)", False)
        self.assertIsNone(made.data)
        values = doubles(3, 1, 2)
        ctypes.CDLL(None).qsort(values, ctypes.c_size_t(3), ctypes.c_size_t(8), ctypes.c_void_p(made.address))
        self.assertEqual(list(values), [1, 2, 3])
        with self.assertRaisesRegex(TypeError, "asks for 'PP->i'; .*; none of its pointers is a data pointer"):
            typedcall.callback(functions.half, "int (*)(const void *, const void *)")
        # glibc's qsort_r passes a data pointer. A parameter's name can also mark a data pointer.
        self.assertIsNotNone(self.make(larger, "int (const void *a, const void *b, void *arg)", False).data)
        self.assertIsNotNone(self.make(functions.half, "double (double x, const void *data)", True).data)

    def test_a_status_of_success(self):
        integrand = "int (unsigned n, const double x[n], void *fdata, unsigned m, double y[m])"
        for success in (0, 1, -7):
            made = typedcall.callback(functions.total, integrand, success=success)
            value = doubles(0)
            self.assertEqual(call(made, "IPPIP->i", 2, doubles(3, 4), ..., 1, value), success)
            self.assertEqual(list(value), [7])
        with self.assertRaisesRegex(TypeError, "returns no status"):
            typedcall.callback(functions.half, OF_NUMBER, success=1)

    def test_it_says_what_it_is(self):
        made = self.make(functions.half, OF_NUMBER, True)
        self.assertIs(made.callable, functions.half)
        self.assertEqual((made.declaration, made.entry), (OF_NUMBER, typedcall.entries(functions.half)[0]))
        self.assertIn(OF_NUMBER, repr(made))
        with self.assertRaises(AttributeError):
            made.address = 1
        with self.assertRaises(TypeError):
            type(made)()


class Refused(unittest.TestCase):
    def test_declarations(self):
        for text in ("", "double", "double(", "double(double x, ...)", "double(spam x)", "spam(double x)",
                     "double(PyObject *x)", "long double(double)", "double(double x[n])",
                     "double(double n, double x[n], void *p)", "double(unsigned n, void x[n])",
                     "double(double x, void *p,)", "double(,)", "double(double x, void *p))",
                     "double(double x[%d], void *p)" % 2**63, "double(double x[%s], void *p)" % ("9" * 5000),
                     " " * 20000, "double" + " " * 20000 + "(*" + " " * 20000):
            with self.subTest(text), self.assertRaises(ValueError):
                typedcall.callback(functions.half, text)
        with self.assertRaisesRegex(TypeError, "a declaration is a str"):
            typedcall.callback(functions.half, None)

    def test_functions(self):
        for f in (len, None, lambda x: x):
            with self.assertRaisesRegex(TypeError, "has nothing for .* no typed function"):
                typedcall.callback(f, OF_NUMBER)
        with self.assertRaisesRegex(TypeError, r"asks for .*\*kd\*d->d.*it offers 'l->l'"):
            typedcall.callback(functions.twice, NLOPT)

    def test_errors(self):
        for f, declaration, error in [
                (functions.compare, "int(double, double, void *)", 2**40), (functions.half, OF_NUMBER, []),
                (functions.decay, "void(double t, double y[2], double rate[2], void *p)", 1)]:
            with self.assertRaises((TypeError, OverflowError)):
                typedcall.callback(f, declaration, error=error)
