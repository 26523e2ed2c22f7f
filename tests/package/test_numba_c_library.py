"""Tests typed functions of C libraries in Numba: pointers, defaults made by NumPy, complex numbers, cffi."""

import ctypes
import unittest

import adapter_support
import support
import typedcall

numba, numpy = adapter_support.library("numba"), adapter_support.library("numpy")
import typedcall.to_numba  # noqa: E402
from buffer_support import module as buffers  # noqa: E402

LIBRARY = """
#include <complex.h>
#pragma GCC visibility push(default)
float _Complex times_i(float _Complex z) { return z * I; }
double _Complex times_i_wide(double _Complex z) { return z * I; }
float _Complex mixed(double x, float _Complex a, int n, float _Complex b) { return a * n + b * (float)x; }
float real_part(float _Complex z) { return crealf(z); }
int checked(float _Complex z, float _Complex *result) {
  *result = z * I;
  return crealf(z) < 0;
}
float _Complex many(float _Complex a, double x, float _Complex b, double y, float _Complex c, int i, int j, int k, int l,
                    int m, int n, int o) {
  return a + 2 * b + 3 * c + (float)(x - y) + i + 2 * j + 3 * k + 4 * l + 5 * m + 6 * n + 7 * o;
}
float _Complex five(float _Complex a, float _Complex b, float _Complex c, float _Complex d, float _Complex e) { return e; }
void fill(double *out, int n) { for (int i = 0; i < n; ++i) out[i] = i + 1; }
double first(const double *x) { return x ? *x : -1; }
int second(const int *x) { return x[1]; }
const int *after(const int *x) { return x + 1; }
int colored(unsigned color) { return 10 * color; }
double at(const void *x) { return x ? *(const double *)x : -1; }
void *same(void *x) { return x; }
double call(double (*function)(double), double x) { return function(x); }
"""


def tagged(library, declaration, flags=typedcall.Flags.THREAD_SAFE):
    """Returns a Python function tagged with a function of the library."""
    name = declaration.partition("(")[0].split()[-1].lstrip("*")

    def function(*given):
        raise NotImplementedError

    function.__name__ = name
    typedcall.tag(function, declaration, getattr(library, name), flags=flags)
    return function


class Library(support.InAFolder):
    def setUp(self):
        super().setUp()
        (self.folder / "library.c").write_text(LIBRARY)
        self.file = support.compile_module(self.folder / "library.c", self.folder)
        self.library = ctypes.CDLL(str(self.file))

    def tagged(self, declaration, **options):
        return tagged(self.library, declaration, **options)

    def refusal(self, function, *values):
        with self.assertRaises(numba.TypingError) as caught:
            numba.njit(function)(*values)
        return next(line for line in str(caught.exception).splitlines() if "nopython code can call with" in line)


class Complex(Library):
    def test_floats_by_value(self):
        times_i, mixed = self.tagged("float _Complex times_i(float _Complex)"), self.tagged(
            "float _Complex mixed(double, float _Complex, int, float _Complex)")
        real_part = self.tagged("float real_part(float _Complex)")
        z = numpy.complex64(1.5 - 2.5j)
        compiled = numba.njit(lambda z: times_i(z))
        self.assertEqual((compiled(z), compiled.nopython_signatures[0].return_type), (2.5 + 1.5j, numba.complex64))
        self.assertEqual(compiled(1 + 2j), -2 + 1j)  # rounded, as by the boxed call
        self.assertEqual([compiled(each) for each in (2, 2.5, True)], [2j, 2.5j, 1j])
        self.assertEqual(numba.njit(lambda z: mixed(2.5, z, 3, times_i(z)))(z), 3 * z + 2.5 * (z * 1j))
        self.assertEqual(numba.njit(lambda z: real_part(z))(z), 1.5)

    def test_a_place_for_the_result(self):
        checked = self.tagged("int checked(float _Complex z, float _Complex *result)",
                              flags=typedcall.Flags.THREAD_SAFE | typedcall.Flags.FALLS_BACK)
        seen = []

        def python(z):
            seen.append(z)
            return z + 7

        typedcall.tag(python, "Zf&Zf->i", typedcall.entries(checked)[0].address, flags=typedcall.Flags.FALLS_BACK)
        compiled = numba.njit(lambda z: python(z))
        self.assertEqual((compiled(numpy.complex64(1 + 2j)), compiled(numpy.complex64(-1 + 2j))), (-2 + 1j, 6 + 2j))
        self.assertEqual(seen, [-1 + 2j])

    def test_all_registers(self):
        single = "float _Complex"
        many = self.tagged(f"{single} many({single}, double, {single}, double, {single}, int, int, int, int, int, int, int)")
        a, b, c = (numpy.complex64(complex(n, -n)) for n in (1, 2, 3))
        compiled = numba.njit(lambda a, b, c: many(a, 2.5, b, 4.0, c, 1, 2, 3, 4, 5, 6, 7))
        self.assertEqual(compiled(a, b, c), a + 2 * b + 3 * c - 1.5 + sum(n * n for n in range(8)))
        five = self.tagged(f"{single} five({', '.join([single] * 5)})")
        self.assertIn("too many arguments to pass them", self.refusal(lambda z: five(z, z, z, z, z), a))

    def test_overloads(self):
        def chosen(x):
            raise NotImplementedError

        address = typedcall.entries(self.tagged("float real_part(float _Complex)"))[0].address
        typedcall.tag(chosen, ["d->d", "Zf->f"], [address, address])
        for of, result in ((numba.complex64, numba.float32), (numba.complex128, numba.float32),
                           (numba.float32, numba.float64), (numba.int64, numba.float64)):
            compiled = numba.njit(lambda x: chosen(x))
            compiled.compile((of,))
            self.assertEqual(compiled.nopython_signatures[0].return_type, result)

    def test_cffi(self):
        cffi = adapter_support.library("cffi")
        ffi = cffi.FFI()
        ffi.cdef("float _Complex times_i(float _Complex); double _Complex times_i_wide(double _Complex);"
                 "double first(double *); int printf(const char *, ...); enum color { RED, GREEN };"
                 "int colored(enum color); struct pair; double at(struct pair *);")
        library = ffi.dlopen(str(self.file))
        wide, narrow, first, printf = library.times_i_wide, library.times_i, library.first, ffi.dlopen(None).printf
        self.assertEqual(numba.njit(lambda z: wide(z))(1 + 2j), -2 + 1j)
        self.assertEqual(numba.njit(lambda z: narrow(z))(numpy.complex64(1 + 2j)), -2 + 1j)
        # Numba lacks these types, too.
        colored, at = library.colored, library.at
        self.assertEqual(numba.njit(lambda n: colored(n))(3), 30)
        self.assertEqual(numba.njit(lambda x: at(x.ctypes))(numpy.array([2.5])), 2.5)
        self.assertIsInstance(numba.typeof(first), numba.types.ExternalFunctionPointer)
        with self.assertRaisesRegex(TypeError, "vararg function is not supported"):  # Numba's own text
            numba.njit(lambda x: printf(x))(1)


    def test_ctypes(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_double)]

        at, first = self.library.at, self.library.first
        at.argtypes, at.restype = [ctypes.POINTER(Pair)], ctypes.c_double
        self.assertEqual(numba.njit(lambda x: at(x.ctypes))(numpy.array([2.5])), 2.5)
        first.argtypes, first.restype = [ctypes.POINTER(ctypes.c_double)], ctypes.c_double
        self.assertIsInstance(numba.typeof(first), numba.types.ExternalFunctionPointer)


class Pointers(Library):
    def test_columns(self):
        norm = buffers.norm

        @numba.njit
        def norms(x):
            return [norm(x[:, i]) for i in range(x.shape[1])] + [norm(x[1:, 0]), norm(x.T[0])]

        self.assertEqual(norms(numpy.asfortranarray([[3.0, 0.0], [4.0, 1.0]])), [5.0, 1.0, 4.0, 5.0])
        for call in (lambda x: norm(x[0]), lambda x: norm(x[::2, 0])):
            self.assertIn("its type does not say that it is contiguous",
                          self.refusal(call, numpy.asfortranarray([[3.0, 0.0], [4.0, 1.0]])))

    def test_pointers_of_c(self):
        second, after, at, same = map(self.tagged, (
            "int second(const int *)", "const int *after(const int *)", "double at(const void *)", "void *same(void *)"))

        @numba.njit
        def call(x):
            pointer = after(x.ctypes)
            # As in C, any pointer is converted to void *.
            return second(pointer), second(numba.carray(same(pointer), 2, numpy.int32).ctypes)

        self.assertEqual(call(numpy.array([1, 2, 3], "i")), (3, 3))
        self.assertEqual(numba.njit(lambda x: at(same(x.ctypes)))(numpy.array([2.5])), 2.5)

    def test_what_to_write(self):
        second, same, call = map(self.tagged, (
            "int second(const int *)", "void *same(void *)", "double call(double (*)(double), double)"))
        doubles = numpy.zeros(3)
        self.assertIn("argument 1 does not suit '&ki': a void * cannot be passed as const int *; pass numba.carray(p, n, "
                      "numpy.int32).ctypes", self.refusal(lambda x: second(same(x.ctypes)), doubles))
        after, first = map(self.tagged, ("const int *after(const int *)", "double first(const double *)"))
        self.assertIn("a int32* cannot be passed as const double *; pass numba.carray(p, n, numpy.float64).ctypes",
                      self.refusal(lambda x: first(after(x.ctypes)), numpy.zeros(3, "i")))

        @numba.cfunc("float64(float64)")
        def callback(x):
            return x / 2

        njitted = numba.njit(lambda x: x)
        half = support.build("typed_functions").half
        wanted = "declare the parameter as intptr_t, and pass the function's address, taken outside compiled code"
        for function in (callback, half, njitted):
            self.assertIn(wanted, self.refusal(lambda x: call(function, x), 1.5))
        self.assertIn("int64 is not a pointer; pass the .ctypes of an array, or declare the parameter as intptr_t",
                      self.refusal(lambda x: call(x, 1.5), 4096))
        # What the message says works.
        by_address = tagged(self.library, "double call(intptr_t, double)")
        for address in (callback.address, typedcall.entries(half)[0].address):
            self.assertEqual(numba.njit(lambda x: by_address(address, x))(3.0), 1.5)

    def test_read_only_arrays_are_not_written_to(self):
        fill, first, at = map(self.tagged, (
            "void fill(double *out, int n)", "double first(const double *)", "double at(const void *)"))
        made = numpy.zeros(3)  # a global array is a constant of the compiled code
        wanted = "it is read-only, and '&d' is written to"
        self.assertIn(wanted, self.refusal(lambda: fill(made.ctypes, numpy.int32(3))))
        frozen = numpy.zeros(3)
        frozen.flags.writeable = False
        self.assertIn(wanted, self.refusal(lambda x: fill(x.ctypes, numpy.int32(3)), frozen))
        self.assertIn(wanted, self.refusal(lambda x, n: fill(None if n else x.ctypes, numpy.int32(3)), frozen, False))
        numba.njit(lambda x: fill(x.ctypes, numpy.int32(3)))(made)
        self.assertEqual(made.tolist(), [1.0, 2.0, 3.0])
        self.assertEqual(numba.njit(lambda: (first(made.ctypes), at(made.ctypes)))(), (1.0, 1.0))
        self.assertEqual(numba.njit(lambda x: first(x.ctypes))(frozen), 0.0)

        @numba.njit
        def either(x, y, which):
            pointer = x.ctypes if which else y.ctypes
            return first(pointer)

        self.assertEqual((either(frozen, made, True), either(frozen, made, False)), (0.0, 1.0))

    def test_a_variable_that_may_hold_a_read_only_array(self):
        fill, first = map(self.tagged, ("void fill(double *out, int n)", "double first(const double *)"))
        made, count = numpy.zeros(3), numpy.int32(3)

        def pointers(x, which):
            pointer = made.ctypes if which else x.ctypes
            fill(pointer, count)

        def other_order(x, which):
            pointer = x.ctypes
            if which:
                pointer = made.ctypes
            fill(pointer, count)

        def arrays(x, which):
            array = made if which else x
            fill(array.ctypes, count)

        def in_loop(x, which):
            pointer = x.ctypes
            for _ in range(2):
                fill(pointer, count)
                pointer = made.ctypes

        for function in (pointers, other_order, arrays, in_loop):
            with self.subTest(function):
                self.assertIn("it is read-only, and '&d' is written to", self.refusal(function, numpy.zeros(3), 1))

        @numba.njit
        def reads(x, y, which):
            pointer = y.ctypes
            if which:
                pointer = made.ctypes
            fill(x.ctypes, count)
            return first(pointer)

        x = numpy.zeros(3)
        self.assertEqual((reads(x, x, False), reads(x, x, True), x[2]), (1.0, 0.0, 3.0))


class TurnedOff(unittest.TestCase):
    def test_pointers_have_numbas_types(self):
        numba.njit(lambda x: x)(1)
        context = numba.core.registry.cpu_target.typing_context
        read_only = numba.types.Array(numba.float64, 1, "C", readonly=True)
        of = numba.types.ArrayCTypes
        self.assertIsNot(type(context.resolve_getattr(read_only, "ctypes")), of)
        self.assertIs(type(context.resolve_getattr(read_only.copy(readonly=False), "ctypes")), of)
        typedcall.to_numba.unregister()
        self.addCleanup(typedcall.to_numba.register)
        self.assertIs(type(context.resolve_getattr(read_only, "ctypes")), of)


class Defaults(unittest.TestCase):
    def test_numbers_of_numpy(self):
        def function(x, scale=numpy.sqrt(2), count=numpy.int64(3), flag=numpy.bool_(True), z=numpy.complex64(1j)):
            raise NotImplementedError

        made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_int, ctypes.c_bool,
                                ctypes.c_double, ctypes.c_double)(
            lambda x, scale, count, flag, real, imaginary: x * scale + count + flag + 10 * real + 100 * imaginary)
        typedcall.tag(function, "ddi?Zd->d", ctypes.cast(made, ctypes.c_void_p).value)
        self.assertEqual(numba.njit(lambda x: function(x))(2.0), 2 * 2**0.5 + 3 + 1 + 100)
        self.assertEqual(numba.njit(lambda x: function(x, count=numpy.int32(5)))(2.0), 2 * 2**0.5 + 5 + 1 + 100)

        class Mine(numpy.float64):
            def item(self):
                raise AssertionError("it is called")

        for default in (numpy.longdouble(1), numpy.datetime64(1, "s"), Mine(1), numpy.int64(2**40)):
            def other(x, count=default):
                raise NotImplementedError

            typedcall.tag(other, "di->d", 4096)
            with self.subTest(default=default), self.assertRaisesRegex(numba.TypingError, "its default: "):
                numba.njit(lambda x: other(x))(2.0)
