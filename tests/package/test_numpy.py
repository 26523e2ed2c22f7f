"""Tests typed functions as ufuncs."""

import ctypes
import pathlib
import pickle
import tempfile
import unittest
import unittest.mock

import adapter_support
import support
import typedcall
from typedcall import Flags

numpy = adapter_support.library("numpy")
functions = support.build("typed_functions")

SCRIPT = """
import pickle
import numpy
import typed_functions
import typedcall

def mine(x):
    return typed_functions.half(x)

class Inside:
    @staticmethod
    def mine(x):
        return typed_functions.half(x)

for each in (mine, Inside.mine):
    typedcall.tag(each, "d->d", typedcall.resolve(typed_functions.half, "d->d"))

if __name__ == "__main__":
    made = [typedcall.ufunc(each) for each in (mine, Inside.mine)]
"""


class Sink(unittest.TestCase):
    def test_it_is_a_ufunc(self):
        add = typedcall.ufunc(functions.add)
        self.assertIs(type(add), numpy.ufunc)
        self.assertEqual((add.nin, add.nout, add.types), (2, 1, ["dd->d"]))
        self.assertIn("Add two floats.", add.__doc__)
        self.assertEqual(add(1, 2.5), 3.5)

    def test_its_name_is_a_str(self):
        with self.assertRaisesRegex(TypeError, "name must be a str, not 'int'"):
            typedcall.ufunc(len, name=3)

    def test_broadcasting_out_and_where(self):
        add = typedcall.ufunc(functions.add)
        rows, columns = numpy.arange(3.0)[:, None], numpy.arange(4.0)
        self.assertTrue(numpy.array_equal(add(rows, columns), rows + columns))
        out = numpy.full(4, -1.0)
        self.assertIs(add(columns, 1.0, out=out, where=columns > 1), out)
        self.assertEqual(out.tolist(), [-1.0, -1.0, 3.0, 4.0])
        backwards = numpy.arange(10.0)[::-2]
        self.assertTrue(numpy.array_equal(add(backwards, backwards), 2 * backwards))

    def test_reductions(self):
        add = typedcall.ufunc(functions.add)
        values = numpy.arange(1000.0).reshape(10, 100)
        self.assertTrue(numpy.array_equal(add.reduce(values, axis=1), values.sum(axis=1)))
        self.assertTrue(numpy.array_equal(add.accumulate(values[0]), numpy.cumsum(values[0])))
        self.assertTrue(numpy.array_equal(add.outer([1.0, 2.0], [3.0]), [[4.0], [5.0]]))
        at = numpy.zeros(2)
        add.at(at, [0, 0, 1], [1.0, 2.0, 3.0])
        self.assertEqual(at.tolist(), [3.0, 3.0])

    def test_dtype_by_overload(self):
        absolute = typedcall.ufunc(functions.absolute)
        self.assertEqual(absolute.types, ["l->l", "L->l", "d->d"])
        self.assertEqual(absolute(numpy.int8([-3])).dtype, numpy.int64)
        self.assertEqual(absolute(numpy.float32([-3])).dtype, numpy.float64)
        with self.assertRaises(TypeError):
            absolute(1j)
        with self.assertRaises(TypeError):
            typedcall.ufunc(functions.inc)(2.5)  # a float is not an int

    def test_loops_keep_the_tables_order(self):
        libm = ctypes.CDLL("libm.so.6")

        def address_of(name):
            return ctypes.cast(getattr(libm, name), ctypes.c_void_p).value

        def table(*rows):
            def tagged(*arguments):
                return None

            signatures, names = zip(*rows)
            typedcall.tag(tagged, signatures, [address_of(name) for name in names])
            return typedcall.ufunc(tagged)

        # If two overloads fit equally well, the first is chosen, as in Python.
        one, other, bessel = ("dl->d", "scalbln"), ("ld->d", "jn"), 0.5767248077568734
        for made, of_ints in ((table(one, other), 4.0), (table(other, one), bessel)):
            for arguments, expected in (((1.0, 2), 4.0), ((1, 2.0), bessel), ((1, 2), of_ints),
                                        ((True, numpy.uint8(2)), of_ints)):
                self.assertAlmostEqual(made(*arguments), expected)
        made = table(("l->l", "labs"), ("L->L", "labs"), ("d->d", "fabs"))
        self.assertEqual(made.types, ["l->l", "L->L", "d->d"])
        self.assertEqual(made(True).dtype, numpy.int64)
        self.assertEqual(made(numpy.uint64(3)).dtype, numpy.uint64)
        # Loops with narrow types come first. Otherwise they would never be chosen.
        made = table(("d->d", "fabs"), ("q->q", "llabs"), ("l->l", "labs"), ("f->f", "fabsf"))
        self.assertEqual(made.types, ["l->l", "L->l", "f->f", "d->d"])
        self.assertEqual(made(numpy.float32(-3)).dtype, numpy.float32)

    def test_every_type(self):
        for name, dtype, given, expected in (
            ("next_char", "int8", 127, -128),
            ("next_byte", "uint8", 255, 0),
            ("next_size", "uint64", 2**64 - 1, 0),
            ("inc", "int64", 2, 3),
            ("half_float", "float32", 3, 1.5),
            ("half", "float64", 3, 1.5),
            ("turn", "complex128", 1 + 2j, -2 + 1j),
            ("negate", "bool", True, False),
        ):
            result = typedcall.ufunc(getattr(functions, name))(numpy.full(3, given, dtype))
            self.assertEqual(result.dtype, dtype, name)
            self.assertEqual(result.tolist(), [expected] * 3, name)
        many = typedcall.ufunc(functions.ten)
        arguments = [float(i) for i in range(8)] + [3, numpy.float32(2)]
        self.assertEqual(many(*[[each] for each in arguments]), [functions.ten(*arguments)])

    def test_pickled_by_name(self):
        half = typedcall.ufunc(functions.half)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            self.assertIs(pickle.loads(pickle.dumps(half, protocol)), half)

    def test_unpickled_in_another_process(self):
        data = pickle.dumps(typedcall.ufunc(functions.half)).hex()
        self.assertEqual(support.printed(
            "-c",
            "import pickle; print(pickle.loads(bytes.fromhex(%r))([4.0, 6.0]))" % data,
            paths=[support.module_folder("typed_functions")]), "[2. 3.]")

    def test_static_methods_are_pickled(self):
        twice = typedcall.ufunc(functions.Scaler.twice)
        self.assertEqual(twice.__name__, "typed_functions.Scaler.twice")
        data = pickle.dumps(twice)
        self.assertIs(pickle.loads(data), twice)
        for wrong in (b"Scaler.scale", b"Scaler.twixe", b"Scaler.__doc"):
            error = TypeError if wrong == b"Scaler.scale" else ImportError
            with self.assertRaises(error):
                pickle.loads(pickle.dumps(twice, 4).replace(b"Scaler.twice", wrong))([1.0])
        self.assertEqual(support.printed(
            "-c",
            "import pickle; print(pickle.loads(bytes.fromhex(%r))([4.0, 6.0]))" % data.hex(),
            paths=[support.module_folder("typed_functions")]), "[ 8. 12.]")

    def run_script(self, text):
        """Runs a script with a tagged function `mine`, and returns the output."""
        with tempfile.TemporaryDirectory(prefix="typedcall-") as folder:
            script = pathlib.Path(folder, "script.py")
            script.write_text(SCRIPT + text)
            paths = [support.module_folder("typed_functions")]
            status, printed, errors = support.python(script, paths=paths)
        self.assertEqual(status, 0, printed + errors)
        return printed.split("\n")

    def test_functions_of_the_script_are_pickled(self):
        printed = self.run_script(
            "    for each in made:\n"
            "        print(each.__name__, pickle.loads(pickle.dumps(each)) is each)\n"
        )
        self.assertEqual(printed[:2], ["__main__.mine True", "__main__.Inside.mine True"])

    def test_functions_of_the_script_in_other_processes(self):
        adapter_support.library("dask.array")
        printed = self.run_script(
            "    import dask.array\n"
            "    array = dask.array.from_array(numpy.arange(4.0), chunks=2)\n"
            "    for each in made:\n"
            "        print(each(array).compute(scheduler='processes', num_workers=1))\n"
        )
        self.assertEqual(printed[:2], ["[0.  0.5 1.  1.5]"] * 2)

    def test_a_name_that_leads_nowhere_is_an_error(self):
        half = typedcall.ufunc(functions.half)
        data = pickle.dumps(half, 4).replace(b"\x04half", b"\x04none")
        with self.assertRaisesRegex(ImportError, "has no 'none' in 'typed_functions'"):
            pickle.loads(data)(1.0)
        from typedcall import ufuncs

        with self.assertRaises(AttributeError):
            ufuncs.typed_functions.same_text

    def test_the_same_object(self):
        self.assertIs(typedcall.ufunc(functions.half), typedcall.ufunc(functions.half))
        self.assertIsNot(typedcall.ufunc(functions.half), typedcall.ufunc(functions.square))
        named = typedcall.ufunc(functions.half, "halve")
        self.assertEqual(named.__name__, "halve")

    def test_several_results(self):
        def both(x):
            return x, -x

        double, pointer = ctypes.c_double, ctypes.POINTER(ctypes.c_double)
        address = ctypes.cast(ctypes.CFUNCTYPE(None, double, pointer, pointer)(lambda *given: None), ctypes.c_void_p)
        typedcall.tag(both, "d&d&d->v", address, flags=typedcall.Flags.ACQUIRES_GIL)
        with self.assertRaises(TypeError) as raised:
            typedcall.ufunc(both)
        self.assertIn("'d&d&d->v' writes to &d, &d, and a ufunc has one result: offer a C function for each, "
                      "'d->d', or one of rows, '*kd*d*d->v', for signature='(n)->(n),(n)'", str(raised.exception))

        # Follow the suggestion in the message.
        @ctypes.CFUNCTYPE(None, *[pointer, ctypes.c_ssize_t] * 3)
        def of_rows(x, count, y, _, z, __):
            for i in range(count):
                y[i], z[i] = x[i], -x[i]

        typedcall.untag(both)
        typedcall.tag(both, "*kd*d*d->v", ctypes.cast(of_rows, ctypes.c_void_p), flags=typedcall.Flags.ACQUIRES_GIL)
        made = typedcall.ufunc(both, signature="(n)->(n),(n)")
        self.assertEqual([each.tolist() for each in made([1.0, 2.0])], [[1.0, 2.0], [-1.0, -2.0]])

    def test_arrays_without_lengths(self):
        double, pointer, size = ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_ssize_t
        behind = "and NumPy does not know the lengths of these arrays: offer a C function with a Py_ssize_t of its own behind each pointer, "
        whole = [(pointer, size, pointer, size), (double, pointer, size), (pointer, size, double, pointer, size)]

        def reverse(x, count, y, _):
            for i in range(count):
                y[i] = x[count - 1 - i]

        def scaled(x, count, by, y, _):
            for i in range(count):
                y[i] = x[i] * by

        for text, advice, prototype, of_rows, given, wanted in (
            ("void (const double *, int, double *)",
             f"takes &kd, &d, {behind}'*kd*d->v', if 'i' is their length, for signature='(n)->(n)'",
             (None, *whole[0]), reverse, ([1.0, 2.0],), [2.0, 1.0]),
            ("void (const double *, int, double *, int)",
             f"takes &kd, &d, {behind}'*kd*d->v', if 'ii' are their lengths, for signature='(n)->(n)'",
             (None, *whole[0]), reverse, ([1.0, 2.0],), [2.0, 1.0]),
            ("void (const double *, double *)",
             f"takes &kd, &d, {behind}'*kd*d->v', for signature='(n)->(n)'",
             (None, *whole[0]), reverse, ([1.0, 2.0],), [2.0, 1.0]),
            ("double (double, const double *, long)",
             f"takes &kd, {behind}'d*kd->d', if 'l' is their length, for signature='(),(n)->()'",
             (double, *whole[1]), lambda by, x, count: by * sum(x[:count]), (3.0, [1.0, 2.0]), 9.0),
            ("void (const double *, size_t, double, double *)",
             f"takes &kd, &d, {behind}'*kdd*d->v', if 'N' is their length, for signature='(n),()->(n)'",
             (None, *whole[2]), scaled, ([1.0, 2.0], 3.0), [3.0, 6.0]),
        ):
            with self.subTest(text):
                made = ctypes.CFUNCTYPE(*prototype)(of_rows)
                address = ctypes.cast(made, ctypes.c_void_p)

                def tagged(*arguments):
                    raise NotImplementedError

                typedcall.tag(tagged, text, address, flags=typedcall.Flags.ACQUIRES_GIL)
                with self.assertRaises(TypeError) as raised:
                    typedcall.ufunc(tagged)
                self.assertIn(advice, str(raised.exception))
                # Follow the suggestion in the message.
                rows, signature = str(raised.exception).split("behind each pointer, '")[1].split("'")[0], advice.split("signature='")[1]
                typedcall.untag(tagged)
                typedcall.tag(tagged, rows, address, flags=typedcall.Flags.ACQUIRES_GIL)
                self.assertEqual(typedcall.ufunc(tagged, signature=signature[:-1])(*given).tolist(), wanted)

    def test_pointers_to_no_numbers(self):
        for signature in ("&kd->v", "d&P->v", "&O->d", "&ks->d"):
            with self.subTest(signature):
                def tagged(*arguments):
                    raise NotImplementedError

                typedcall.tag(tagged, signature, ctypes.cast(ctypes.CFUNCTYPE(None)(lambda: None), ctypes.c_void_p))
                with self.assertRaisesRegex(TypeError, "has types other than numbers|has no arguments or no result"):
                    typedcall.ufunc(tagged)

    def test_as_many_arrays_as_numpy_takes(self):
        most = 64 if numpy.__version__ >= "2" else 32

        def with_inputs(count):
            double = ctypes.c_double
            return ctypes.CFUNCTYPE(double, *[double] * count)(lambda *given: sum(given))

        def with_rows(count):
            double = ctypes.c_double
            made = ctypes.CFUNCTYPE(double, ctypes.c_void_p, ctypes.c_ssize_t, *[double] * (count - 1))(
                lambda row, n, *given: n + sum(given))
            function = lambda *given: 0  # noqa: E731
            typedcall.tag(function, "*kd" + "d" * (count - 1) + "->d", ctypes.cast(made, ctypes.c_void_p),
                          flags=typedcall.Flags.ACQUIRES_GIL)
            return function

        for make, first in ((with_inputs, 3.0), (with_rows, [0.0, 0, 0])):
            for count in (30, most - 2, most - 1):
                made = typedcall.ufunc(make(count))
                self.assertEqual(made(first, *range(count - 1)), 3.0 + sum(range(count - 1)))
            for count in (most, most + 1, 126):
                with self.assertRaisesRegex(ValueError, f"more than {most} operands"):
                    typedcall.ufunc(make(count))

    def test_what_is_refused(self):
        for function, reason in (
            (functions.expect, "no arguments or no result"),
            (functions.same_object, "types other than numbers"),
            (functions.same_text, "types other than numbers"),
            (functions.counted, "no arguments"),
            (functions.Scaler(1.0).scale, "takes self"),
            (len, "offers no typed function"),
        ):
            with self.assertRaisesRegex(TypeError, reason):
                typedcall.ufunc(function)

    def test_exceptions(self):
        div = typedcall.ufunc(functions.div)
        self.assertEqual(div([1.0, -6.0], [2.0, 3.0]).tolist(), [0.5, -2.0])
        self.assertEqual(div(0.0, -1.0), 0.0)  # -0.0 is also the error value
        check = typedcall.ufunc(functions.check)
        self.assertEqual(check([-1, 5]).tolist(), [-1, 5])
        zeros = numpy.ones((3, 50000))
        zeros[0, 40000] = 0
        with self.assertRaisesRegex(ValueError, "thirteen"):
            check(13)
        for call in (
            lambda: div(1.0, 0.0),
            lambda: div(1.0, zeros),
            lambda: div(numpy.float32(1), zeros.astype("f4")),  # NumPy converts through a buffer
            lambda: div(1.0, zeros[::-1, ::5]),
            lambda: div(1.0, zeros, where=zeros < 1, out=zeros.copy()),
            lambda: div.reduce(zeros, axis=1),
            lambda: div.accumulate(zeros[0]),
            lambda: div.outer([1.0, 2.0], zeros[0]),
            lambda: div.at(numpy.ones(3), [0, 1], 0.0),
        ):
            with self.assertRaisesRegex(ZeroDivisionError, "division by zero"):
                call()
        with self.assertRaises(ZeroDivisionError):
            div(1.0, [1.0, 0.0], out=numpy.zeros(2, "f4"))
        out = numpy.full(4, 7.0)
        with self.assertRaises(ZeroDivisionError):
            div(1.0, [1.0, 2.0, 0.0, 1.0], out=out)
        self.assertEqual(out.tolist(), [1.0, 0.5, 7.0, 7.0])

    def test_a_numpy_that_does_not_look_for_exceptions(self):
        with unittest.mock.patch.object(numpy, "__version__", "1.21.6"):
            with self.assertRaisesRegex(TypeError, "may raise"):
                typedcall.ufunc(functions.div)
            self.assertEqual(typedcall.ufunc(functions.half)(3.0), 1.5)

    def test_what_needs_the_gil_gets_it(self):
        held = []
        check = ctypes.pythonapi.PyGILState_Check

        def callback(x):
            held.append(check())
            return x + 1

        takes_it = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(callback)
        made = typedcall.ufunc(takes_it)
        self.assertEqual(made(numpy.arange(5.0)).tolist(), [1.0, 2.0, 3.0, 4.0, 5.0])
        self.assertEqual(held, [1] * 5)

        def address_of(function):
            return ctypes.cast(function, ctypes.c_void_p).value

        held_inside = ctypes.pythonapi.PyGILState_Check
        plain = support.build("plain_functions")
        # PyGILState_Check() ignores the argument.
        for flags, expected in ((0, 1), (Flags.NEEDS_THREAD, 1), (Flags.THREAD_SAFE, 0)):
            typedcall.tag(plain.inc, "i->i", address_of(held_inside), flags=int(flags))
            try:
                asked = typedcall.ufunc(plain.inc)(numpy.arange(10_000, dtype="int32"))
                self.assertEqual(set(asked.tolist()), {expected}, flags)
            finally:
                typedcall.untag(plain.inc)

    def test_in_a_dask_array(self):
        dask = adapter_support.library("dask.array")
        half = typedcall.ufunc(functions.half)
        array = dask.from_array(numpy.arange(100.0), chunks=10)
        for scheduler in ("threads", "sync"):
            result = half(array).compute(scheduler=scheduler)
            self.assertTrue(numpy.array_equal(result, numpy.arange(100.0) / 2))
        self.assertIsInstance(half(array), dask.Array)
