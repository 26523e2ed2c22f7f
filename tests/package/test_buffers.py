"""Tests typed functions that take buffers: tagging them, and calls through TypedFunction, ctypes and cffi."""

import array
import ctypes
import gc
import sys
import unittest

import adapter_support
import buffer_support
import support
import typedcall
from buffer_support import module
from matrix_c_types import contents
from matrix_properties_buffers import OBJECTS, doubles, numpy_arrays
from typedcall import Flags

NUMBERS = [0, 1, 2.5, 2**40, True, None, "1"]
_RAISING = ("mean", "mean_or_status")


def asked(name):
    """Returns the function's signature for Python callers."""
    arguments, result = typedcall.entries(getattr(module, name))[0].python_types()
    return "".join(arguments) + "->" + result


def resolved(name, place=module):
    signature = buffer_support.FUNCTIONS[name][0] if name == "mean_or_status" else asked(name)
    return typedcall.resolve(getattr(place, name), signature)


def names():
    """Returns the names of the functions to call. On PyPy, omits those that may raise: their calls are boxed."""
    return [name for name in buffer_support.FUNCTIONS
            if not (support.IS_PYPY and name in _RAISING)]


def outcome(function, arguments):
    """Returns the result or the type of the exception, and the contents of the arguments after the call."""
    try:
        result = function(*arguments)
        shown = type(result), repr(result)
    except Exception as error:
        shown = type(error)
    return shown, [contents(each) for each in arguments]


def same_error(one, other):
    """Returns true if one function raised BufferError and the other ValueError, and the contents are the same."""
    pair = {one[0], other[0]}
    return one[1] == other[1] and pair <= {BufferError, ValueError}


class Calls(unittest.TestCase):
    maxDiff = None

    def check(self, makers):
        """Compares the hand-written wrapper, the generated wrapper, and their C functions."""
        differences, equal = [], 0
        for name in names():
            function = getattr(module, name)
            others_of_it = [getattr(buffer_support.provider, name),
                            *(resolved(name, place) for place in buffer_support.MODULES)]
            count = len(typedcall.entries(function)[0].python_types()[0])
            for make in makers:
                others = [()] if count == 1 else (
                    [(lambda n=n: n,) for n in NUMBERS] if name in ("power", "times") else
                    [(each,) for each in makers])
                for other in others:
                    made = lambda: tuple(each() for each in (make, *other))
                    expected = outcome(function, made())
                    for typed in others_of_it:
                        found = outcome(typed, made())
                        if expected == found or same_error(expected, found):
                            equal += 1
                        else:
                            differences.append((name, typed, made(), expected, found))
        self.assertEqual(differences, [])
        return equal

    def test_equal_to_the_boxed_call(self):
        # PyPy's C API treats memory with gaps as contiguous.
        left_out = ("every second double", "doubles from the end") if support.IS_PYPY else ()
        makers = [maker for name, maker in OBJECTS.items() if name not in left_out]
        for text in ("", "\xe4\u20ac", "\udc00", "a\0b"):
            makers.append(lambda text=text: text)
        self.assertGreater(self.check(makers), 6000)

    @support.ON_CPYTHON
    def test_arrays_of_numpy(self):
        adapter_support.library("numpy")
        self.assertGreater(self.check([*numpy_arrays().values()]), 3000)

    def test_released_on_every_path(self):
        power, times = resolved("power"), resolved("times")
        for function, good, bad in ((power, 2.0, "2"), (times, 2, 2**40)):
            for number, error in ((good, None), (bad, (TypeError, OverflowError))):
                memory = bytearray(16)
                if error is None:
                    function(memoryview(memory).cast("d"), number)
                else:
                    with self.assertRaises(error):
                        function(memoryview(memory).cast("d"), number)
                gc.collect()
                memory.append(1)  # raises BufferError if the buffer was not released
        with self.assertRaises(TypeError):
            dot = resolved("dot")
            memory = bytearray(16)
            dot(memoryview(memory).cast("d"), memory)
        gc.collect()
        memory.append(1)

    def test_what_falls_back_takes_what_the_python_function_takes(self):
        def total(values):
            return float(sum(values))

        entry = typedcall.entries(module.mean_or_fall_back)[0]
        typedcall.tag(total, entry.signature, entry.address, flags=entry.flags)
        typed = typedcall.resolve(total, "*kd&d->i")
        plain = doubles(1.0, 2.0, 3.0, 4.0)
        odd = memoryview(bytearray(17))[1:].cast("d")
        for given in ([1.0, 2.0], array.array("f", [1.0, 3.0]), memoryview(plain)[::2], odd):
            with self.subTest(given=given):
                self.assertEqual(typed(given), total(given))
        rows = memoryview(bytes(32)).cast("d", (2, 2))
        with self.assertRaises(NotImplementedError):
            total(rows)
        with self.assertRaises(NotImplementedError):
            typed(rows)
        self.assertEqual(typed(plain), 2.5)  # the C function returns the mean

    def test_what_a_python_callable_gets_for_spans(self):
        def called(numbers, constant, parts, nothing, no_bytes, text):
            seen = [(each.format, each.itemsize, each.shape, each.readonly)
                    for each in (numbers, constant, parts, nothing)]
            values = numbers.tolist(), constant.tolist(), nothing.tolist(), no_bytes, text
            numbers[2] = 5.0
            return seen, values

        (seen, values), numbers = buffer_support.provider.call_boxed(called)
        self.assertEqual(seen, [("d", 8, (3,), False), ("l", 8, (2,), True), ("Zd", 16, (2,), False),
                                ("f", 4, (0,), False)])
        self.assertEqual(values, ([1.5, -2.5, 4.0], [7, 2**40], [], b"", "text"))
        self.assertEqual(numbers, (1.5, -2.5, 5.0))

    def test_wrong_numbers_of_arguments(self):
        for given in ((), (doubles(1.0), doubles(1.0))):
            with self.assertRaisesRegex(TypeError, "argument"):
                resolved("norm")(*given)

    def test_messages(self):
        for bad, error, text in (
            (1.5, TypeError, "a buffer of 'd' items is needed, not 'float'"),
            (None, TypeError, "a buffer of 'd' items is needed, not 'NoneType'"),
            (array.array("f", [1]), TypeError,
             r"a buffer of 'd' items is needed, not of 'f' \(4 bytes\)"),
            (memoryview(bytearray(17))[1:].cast("d"), ValueError, "aligned to 8 bytes"),
            (memoryview(bytearray(32)).cast("d", (2, 2)), ValueError, "1 dimension"),
        ):
            with self.assertRaisesRegex(error, text):
                resolved("norm")(bad)
        with self.assertRaisesRegex(TypeError, "a str is needed, not 'bytes'"):
            resolved("utf8_length")(b"abc")

    def test_const_answers_a_request_without(self):
        self.assertEqual(typedcall.resolve(module.norm, "*d->d")(doubles(3.0, 4.0)), 5.0)
        with self.assertRaisesRegex(TypeError, r"does not offer '\*kd->d'|'\*d->d'"):
            typedcall.resolve(module.normalise, "*kd->d")

    @support.ON_CPYTHON  # PyPy uses the entry's types
    def test_const_is_as_asked_for(self):
        # Without const, a read-only buffer is refused.
        with self.assertRaises((BufferError, ValueError)):
            typedcall.resolve(module.norm, "*d->d")(memoryview(bytes(16)).cast("d"))

    def test_another_name_of_the_same_integer(self):
        typed = typedcall.resolve(module.total, "*kq->q")
        self.assertEqual(typed(array.array("l", [1, 2])), 3)


class Tagging(unittest.TestCase):
    def tag(self, text):
        def function(*args):
            raise NotImplementedError

        typedcall.tag(function, text, module.addresses["norm"])
        return typedcall.signatures(function)

    def test_c_text(self):
        for text, signature in (
            ("double (const double x[n], Py_ssize_t n)", "*kd->d"),
            ("double norm(double x[n], intptr_t n)", "*d->d"),
            ("double f(int k, const unsigned char *p[], ssize_t n)", "iPn->d"),
            ("double f(const float a[n], Py_ssize_t n, float b[m], Py_ssize_t m)", "*kf*f->d"),
            ("double f(double const x[count], long count, int k)", "*kdi->d"),
            ("long words(const char text[n], Py_ssize_t n)", "*s->l"),
            ("long words(char const text[n], Py_ssize_t n)", "*s->l"),
            ("long sum(const signed char x[n], Py_ssize_t n)", "*kb->l"),
        ):
            with self.subTest(text):
                self.assertEqual(self.tag(text), [signature])

    def test_a_pointer_and_a_number_stay_what_they_are(self):
        self.assertEqual(self.tag("double (const double *, Py_ssize_t)"), ["&kdn->d"])
        self.assertEqual(self.tag("double (const double *x, Py_ssize_t n)"), ["&kdn->d"])
        self.assertEqual(self.tag("double (double *x, int n)"), ["&di->d"])
        self.assertEqual(self.tag("double (const double x[3], Py_ssize_t n)"), ["&kdn->d"])

    def test_a_length_of_another_type(self):
        with self.assertRaisesRegex(ValueError, "Py_ssize_t, not 'int n'"):
            self.tag("double (const double x[n], int n)")

    def test_a_length_for_two(self):
        with self.assertRaisesRegex(ValueError, r"followed by its own length; 'const double x\[n\]' is not"):
            self.tag("double (const double x[n], const double y[n], Py_ssize_t n)")


class OtherLibraries(unittest.TestCase):
    def test_ctypes_has_two_arguments(self):
        made = typedcall.ctypes_function(module.norm, "*kd->d")
        self.assertEqual(made.argtypes[1:], (ctypes.c_ssize_t,) if ctypes.c_ssize_t in made.argtypes
                         else (ctypes.c_long,))
        values = (ctypes.c_double * 2)(3.0, 4.0)
        self.assertEqual(made(values, 2), 5.0)
        self.assertEqual(typedcall.ctypes_function(module.utf8_length)(b"abc", 3), 3)

    def test_cffi_has_two_arguments(self):
        if support.IS_PYPY:
            import cffi
        else:
            cffi = adapter_support.library("cffi")
        ffi = cffi.FFI()
        made = typedcall.cffi_function(module.norm, "*kd->d")
        self.assertEqual(made(ffi.new("double[]", [3.0, 4.0]), 2), 5.0)
        values = doubles(3.0, 4.0)
        self.assertEqual(made(ffi.from_buffer("double[]", values), 2), 5.0)

    @support.ON_CPYTHON
    def test_cython_passes_memoryviews(self):
        adapter_support.library("Cython")
        folder = support.temporary(self.addCleanup)
        declarations = typedcall.cython_declarations(module)
        self.assertIn("cdef double norm(const double *, Py_ssize_t) noexcept nogil\n", declarations)
        self.assertIn("cdef void twice(const double *, Py_ssize_t, double *, Py_ssize_t)",
                      declarations)
        (folder / "buffer_functions.pxd").write_text(declarations)
        (folder / "buffer_consumer.pyx").write_text(
            "from buffer_functions cimport hash as hash_of, norm, twice, utf8_length\n"
            "def call(const double[::1] x):\n"
            "    return norm(&x[0], x.shape[0])\n"
            "def doubled(const double[::1] x, double[::1] y):\n"
            "    with nogil:\n"
            "        twice(&x[0], x.shape[0], &y[0], y.shape[0])\n"
            "def bytes_and_text(bytes x):\n"
            "    return hash_of(<const unsigned char *>x, len(x)), utf8_length(x, len(x))\n")
        made = adapter_support.compile_pyx(folder / "buffer_consumer.pyx", folder)
        self.assertIn("norm", typedcall.export_to_cython("buffer_functions"))
        consumer = support.load("buffer_consumer", made)
        self.addCleanup(sys.modules.pop, "buffer_consumer")
        x, y = doubles(3.0, 4.0), doubles(0.0, 0.0)
        self.assertEqual(consumer.call(x), 5.0)
        consumer.doubled(x, y)
        self.assertEqual(y, doubles(6.0, 8.0))
        self.assertEqual(consumer.bytes_and_text(b"abc"), (module.hash(b"abc"), 3))

    @support.ON_CPYTHON  # the SciPy adapter is only for CPython
    def test_scipy_refuses_but_for_filters(self):
        adapter_support.library("scipy")
        with self.assertRaisesRegex(TypeError, "has buffers, and SciPy calls such functions as filters only"):
            typedcall.low_level_callable(module.dot)
