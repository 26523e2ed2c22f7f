"""typedcall.callback(): typed functions as the C functions of libraries, called as libraries do, by
ctypes, which converts nothing: values, arrays, lengths, places for results, errors."""

import ctypes
import gc
import math
import pathlib
import signal
import struct
import sys
import textwrap
import threading
import unittest
import weakref

import support
import typedcall

if support.IS_PYPY:
    raise unittest.SkipTest("typedcall.callback is CPython's")

functions = support.build("callback_functions")

OF_NUMBER = "double (*)(double x, void *params)"
NLOPT = "double(unsigned n, const double *x, double *gradient, void *data)"
CUBATURE = "int(unsigned ndim, const double *x, void *fdata, unsigned fdim, double *fval)"
GSL_ODE = "int (*)(double t, const double y[2], double dydt[2], void *params)"
MONTE = "double (*)(double *x, size_t dim, void *params)"
SCIPY = "double (int n, double *x, void *user_data)"

_TYPES = {"d": ctypes.c_double, "f": ctypes.c_float, "i": ctypes.c_int, "I": ctypes.c_uint,
          "l": ctypes.c_long, "N": ctypes.c_size_t, "P": ctypes.c_void_p, "v": None,
          "b": ctypes.c_int8, "B": ctypes.c_uint8, "?": ctypes.c_bool}


def call(made, signature, *arguments):
    """Calls the C function with its own types; for `P` the data pointer where it stands."""
    letters, result = signature.split("->")
    prototype = ctypes.PYFUNCTYPE(_TYPES[result], *(_TYPES[each] for each in letters))
    return prototype(made.address)(*(made.data if each is ... else each for each in arguments))


def doubles(*values):
    return (ctypes.c_double * len(values))(*values)


class Shapes(unittest.TestCase):
    def make(self, f, declaration, compiled, **options):
        made = typedcall.callback(f, declaration, **options)
        self.assertIs(made.is_compiled, compiled, declaration)
        return made

    def test_of_a_number(self):
        for f, compiled in [(functions.half, True), (functions.half_in_one_thread, False),
                            (functions.half_of_float, None)]:
            if compiled is None:  # a double is no float
                with self.assertRaisesRegex(TypeError, "has nothing for"):
                    typedcall.callback(f, OF_NUMBER)
                continue
            made = self.make(f, OF_NUMBER, compiled)
            self.assertEqual(call(made, "dP->d", 3.0, ...), 1.5)
            self.assertTrue(math.isnan(call(made, "dP->d", math.nan, ...)))
            made.check()
        made = self.make(functions.root, OF_NUMBER, True)
        self.assertEqual(call(made, "dP->d", 9.0, ...), 3.0)

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
        with self.assertRaisesRegex(ValueError, "another number of elements"):
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
        with self.assertRaisesRegex(ValueError, "length below 0"):
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
            with self.assertRaisesRegex(ValueError, "other than one value"):
                made.check()

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
        pair = {"N_Vector": (ctypes.cast(elements, ctypes.c_void_p).value,
                             ctypes.cast(length, ctypes.c_void_p).value)}
        made = self.make(functions.total, "double(const N_Vector y, void *data)", False, arrays=pair)
        self.assertEqual(call(made, "PP->d", addresses[0], ...), 4)
        for wrong, error in [((0, 1), ValueError), (("a", 1), TypeError)]:
            with self.assertRaises(error):
                typedcall.callback(functions.decay, declaration, arrays={"N_Vector": wrong})

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
        with self.assertRaises(TypeError):  # what is const is not to be written to
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
        made = typedcall.callback(functions.calls, "long(void)")
        self.assertIsNone(made.data)
        self.assertGreaterEqual(call(made, "->l"), 0)

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
                     "double(double n, double x[n], void *p)", "double(unsigned n, void x[n])"):
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


class Exceptions(unittest.TestCase):
    def test_one_waits_until_the_library_returns(self):
        before = functions.calls()
        for f in (functions.root, functions.raising_root):
            with self.assertRaisesRegex(ValueError, "no root") as caught:
                with typedcall.callback(f, OF_NUMBER) as made:
                    self.assertTrue(math.isnan(call(made, "dP->d", -1.0, ...)))
                    # Now nothing is called.
                    calls = functions.calls()
                    self.assertTrue(math.isnan(call(made, "dP->d", 4.0, ...)))
                    self.assertEqual(functions.calls(), calls)
            self.assertIsNone(caught.exception.__context__)
            made.check()
            self.assertEqual(call(made, "dP->d", 4.0, ...), 2)
        self.assertGreater(functions.calls(), before)

    def test_the_reason_of_a_failure_that_the_library_tells(self):
        with self.assertRaisesRegex(ValueError, "no root") as caught:
            with typedcall.callback(functions.root, OF_NUMBER) as made:
                call(made, "dP->d", -1.0, ...)
                raise RuntimeError("GSL failed")
        self.assertIsInstance(caught.exception.__context__, RuntimeError)

    def test_the_error_value(self):
        for declaration, signature, options, error in [
                ("double(double x, void *p)", "dP->d", {"error": math.inf}, math.inf),
                (GSL_ODE, "dPPP->i", {}, -1), (GSL_ODE, "dPPP->i", {"error": 9}, 9)]:
            f, x = (functions.root, [-1.0]) if signature == "dP->d" else (
                functions.checked_decay, [-1.0, doubles(1, 2), doubles(0, 0)])
            made = typedcall.callback(f, declaration, **options)
            self.assertEqual(call(made, signature, *x, ...), error)
            self.assertRaises(ValueError, made.check)

    def test_python_is_called_where_it_falls_back(self):
        entry = typedcall.entries(functions.checked_squares)[0]

        def f(x, gradient):
            self.assertEqual((type(x), x.format, x.readonly, list(x)), (memoryview, "d", True, [-1, 2]))
            for i in range(len(gradient)):
                gradient[i] = 10 + i
            return 5

        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        self.addCleanup(typedcall.untag, f)
        made = typedcall.callback(f, NLOPT)
        gradient = doubles(0, 0)
        self.assertEqual(call(made, "IPPP->d", 2, doubles(-1, 2), gradient, ...), 5)
        self.assertEqual(list(gradient), [10, 11])

    def test_a_wrong_result_of_python(self):
        entry = typedcall.entries(functions.root)[0]
        for result, error in [("a", TypeError), (None, TypeError), (10**400, OverflowError)]:
            def f(x, result=result):
                return result

            typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
            with self.assertRaises(error), typedcall.callback(f, OF_NUMBER) as made:
                call(made, "dP->d", -1.0, ...)
            typedcall.untag(f)

    def test_what_was_pending_stays(self):
        entry = typedcall.entries(functions.root)[0]

        def f(x):
            raise KeyError(x)

        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        self.addCleanup(typedcall.untag, f)
        made = typedcall.callback(f, OF_NUMBER)
        try:
            raise LookupError("mine")
        except LookupError:
            call(made, "dP->d", -1.0, ...)
            self.assertEqual(sys.exc_info()[1].args, ("mine",))
        self.assertRaises(KeyError, made.check)

    def test_no_data_pointer_at_all(self):
        made = typedcall.callback(functions.root, OF_NUMBER)
        self.assertTrue(math.isnan(call(made, "dP->d", 1.0, None)))
        made = typedcall.callback(functions.decay, GSL_ODE)
        self.assertEqual(call(made, "dPPP->i", 1.0, doubles(1, 2), doubles(1, 2), None), -1)

    def test_null_arrays(self):
        made = typedcall.callback(functions.total, MONTE.replace("double *x", "const double *x"))
        self.assertTrue(math.isnan(call(made, "PNP->d", None, 3, ...)))
        self.assertRaisesRegex(ValueError, "NULL", made.check)

    def test_an_exception_that_nobody_asks_for(self):
        seen = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda each: seen.append(repr(each.exc_value))
        made = typedcall.callback(functions.root, OF_NUMBER)
        call(made, "dP->d", -1.0, ...)
        del made
        gc.collect()
        self.assertEqual(seen, ["ValueError('no root')"])

    def test_an_interrupt_waits_as_others_do(self):
        entry = typedcall.entries(functions.root)[0]

        def f(x):
            signal.raise_signal(signal.SIGINT)
            return x

        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        self.addCleanup(typedcall.untag, f)
        with self.assertRaises(KeyboardInterrupt), typedcall.callback(f, OF_NUMBER) as made:
            self.assertTrue(math.isnan(call(made, "dP->d", -1.0, ...)))

    def test_a_library_that_calls_after_python_has_ended(self):
        """A destructor at the very end: what needs no Python goes on, the rest is an error value."""
        program = """
            import ctypes, os, sys, typedcall, callback_functions
            made = typedcall.callback(callback_functions.{0}, "double (*)(double x, void *params)")
            prototype = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)
            class AtEnd:
                call = (prototype(made.address), made)
                def __del__(self, write=os.write, repr=repr):
                    write(1, repr(self.call[0]({1}, self.call[1].data)).encode())
            sys.kept = AtEnd()
        """
        for name, x, expected in [("half", 3.0, "1.5"), ("root", 9.0, "3.0"), ("root", -1.0, "nan")]:
            status, printed, errors = support.python(
                "-c", textwrap.dedent(program.format(name, x)), paths=[pathlib.Path(functions.__file__).parent])
            self.assertEqual((status, printed.strip()), (0, expected), errors)


class Lives(unittest.TestCase):
    def test_it_keeps_what_it_calls(self):
        def f(x):
            return x

        entry = typedcall.entries(functions.half)[0]
        typedcall.tag(f, "d->d", entry.address, flags=entry.flags)
        made = typedcall.callback(f, OF_NUMBER)
        f.callback = made  # a circle
        gone = weakref.ref(f)
        del f
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(call(made, "dP->d", 1.0, ...), 0.5)
        typedcall.untag(made.callable)
        del made
        gc.collect()
        self.assertIsNone(gone())

    def test_a_million_calls_leave_nothing(self):
        with typedcall.callback(functions.root, OF_NUMBER) as made:
            prototype = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)(made.address)
            data = made.data
            for _ in range(1000):
                prototype(-1.0, data)
                self.assertRaises(ValueError, made.check)
            before = support_memory()
            for _ in range(1_000_000):
                prototype(4.0, data)
            for _ in range(5_000):
                prototype(-1.0, data)
                try:
                    made.check()
                except ValueError:
                    pass
                typedcall.callback(functions.product, NLOPT)
            self.assertLess(support_memory() - before, 2000)

    def test_threads(self):
        class Flaw(Exception):
            pass

        entry = typedcall.entries(functions.root)[0]

        def f(x):
            raise Flaw(x)

        typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
        self.addCleanup(typedcall.untag, f)
        made = typedcall.callback(f, OF_NUMBER)
        prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)(made.address)
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        others = []
        sys.unraisablehook = lambda each: others.append(each.exc_value)
        threads = [threading.Thread(target=prototype, args=(-1.0, made.data)) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertRaises(Flaw, made.check)
        made.check()
        self.assertTrue(all(isinstance(each, Flaw) for each in others))


def support_memory():
    """Kilobytes of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4


if __name__ == "__main__":
    assert struct.calcsize("P") == 8
    unittest.main()
