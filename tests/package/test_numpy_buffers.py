"""Tests typed functions that take buffers as generalised ufuncs."""

import gc
import pickle
import unittest
import weakref

import adapter_support
import support
import typedcall
from buffer_support import module
from typedcall import Flags

numpy = adapter_support.library("numpy")
SHAPES = [(0,), (1,), (4,), (0, 4), (3, 0), (1, 1), (3, 4), (2, 3, 4)]


def variants(array):
    """Yields arrays with the same elements and different memory layouts."""
    read_only = array.copy()
    read_only.flags.writeable = False
    yield array
    yield numpy.repeat(array, 2, axis=-1)[..., ::2]
    yield array[..., ::-1].copy()[..., ::-1]
    yield numpy.asfortranarray(array)
    yield read_only


def arrays():
    for shape in SHAPES:
        size = int(numpy.prod(shape))
        yield numpy.arange(size, dtype=float).reshape(shape) - size / 3


class Values(unittest.TestCase):
    def test_one_row(self):
        norm = typedcall.ufunc(module.norm)
        self.assertEqual(norm.signature, "(n)->()")
        self.assertEqual(norm.types, ["d->d"])
        for array in arrays():
            expected = numpy.array([module.norm(row.copy()) for row in
                                    array.reshape(int(numpy.prod(array.shape[:-1])), array.shape[-1])])
            for each in variants(array):
                found = norm(each)
                self.assertTrue(numpy.array_equal(found, expected.reshape(array.shape[:-1])), each)

    def test_two_rows(self):
        x, y = numpy.random.default_rng(support.seeds.seed(1)).normal(size=(2, 5, 7))
        expected = [module.dot(a.copy(), b.copy()) for a, b in zip(x, y)]
        for signature in (None, "(n),(n)->()"):
            dot = typedcall.ufunc(module.dot, signature=signature)
            for a in variants(x):
                for b in variants(y):
                    self.assertEqual(dot(a, b).tolist(), expected)
        self.assertEqual(dot.signature, "(n),(n)->()")
        with self.assertRaisesRegex(ValueError, "mismatch in its core dimension"):
            dot(x, y[:, :3])
        apart = typedcall.ufunc(module.dot)
        self.assertEqual(apart.signature, "(n),(m)->()")
        self.assertEqual(apart(x, y[:, :3]).tolist(),
                         [module.dot(a.copy(), b[:3].copy()) for a, b in zip(x, y)])
        # The row is broadcast with stride 0.
        self.assertEqual(dot(x[0], y[:, ::-1]).tolist(),
                         [module.dot(x[0].copy(), b[::-1].copy()) for b in y])

    def test_numbers_beside_rows(self):
        x = numpy.arange(12.0).reshape(3, 4)
        power = typedcall.ufunc(module.power)
        self.assertEqual(power.signature, "(n),()->()")
        for each in variants(x):
            for p in (2, 2.5, numpy.array([1.0, 2.0, 3.0]), numpy.float32(0.5)):
                expected = [module.power(row.copy(), float(q))
                            for row, q in zip(x, numpy.broadcast_to(p, 3))]
                self.assertEqual(power(each, p).tolist(), expected)

    def test_other_elements(self):
        for function, values in (
            (module.hash, numpy.frombuffer(b"some bytes!!", "u1").reshape(3, 4)),
            (module.total, numpy.arange(12).reshape(3, 4)),
            (module.largest, numpy.arange(12, dtype="f4").reshape(3, 4)),
        ):
            made = typedcall.ufunc(function)
            expected = [function(row.copy()) for row in values]
            for each in variants(values):
                self.assertEqual(made(each).tolist(), expected)

    def test_arrays_are_cast_as_by_any_ufunc(self):
        norm = typedcall.ufunc(module.norm)
        self.assertEqual(norm([3, 4]), 5.0)
        self.assertEqual(norm(numpy.array([3, 4], ">f8")), 5.0)
        self.assertEqual(norm(numpy.zeros(17, "u1")[1:].view("f8")), 0.0)
        with self.assertRaises(TypeError):
            norm(numpy.array([1j]))

    def test_narrow_numbers(self):
        x = numpy.array([[3.0, 4.0]] * 3)
        times = typedcall.ufunc(module.times)
        self.assertEqual(times(x, 2).tolist(), [10.0] * 3)
        self.assertEqual(times(x, numpy.array([1, -1, 2**31 - 1])).tolist(),
                         [5.0, -5.0, 5.0 * (2**31 - 1)])
        with self.assertRaises(OverflowError):
            times(x, numpy.array([1, 2**31, 3]))
        with self.assertRaises(TypeError):
            times(x, 1.5)


class Outputs(unittest.TestCase):
    def test_a_buffer_that_is_written_to(self):
        twice = typedcall.ufunc(module.twice, signature="(n)->(n)")
        for array in arrays():
            for each in variants(array):
                self.assertTrue(numpy.array_equal(twice(each), 2 * array))
                out = numpy.full(array.shape[:-1] + (2 * array.shape[-1],), 7.0)
                twice(each, out=out[..., ::2])
                self.assertTrue(numpy.array_equal(out[..., ::2], 2 * array))
                self.assertTrue((out[..., 1::2] == 7.0).all())

    def test_a_copy_that_is_changed(self):
        made = typedcall.ufunc(module.normalise, signature="(n)->(n),()")
        x = numpy.array([[3.0, 4.0], [6.0, 8.0]])
        for each in variants(x):
            changed, lengths = made(each)
            self.assertEqual(changed.tolist(), [[0.6, 0.8]] * 2)
            self.assertEqual(lengths.tolist(), [5.0, 10.0])
        self.assertEqual(x.tolist(), [[3.0, 4.0], [6.0, 8.0]])
        out = numpy.zeros((2, 4))
        made(x, out=(out[:, ::2], None))
        self.assertEqual(out.tolist(), [[0.6, 0.0, 0.8, 0.0]] * 2)

    def test_without_a_result(self):
        negate = typedcall.ufunc(module.negate, signature="(n)->(n)")
        x = numpy.arange(6, dtype="i4").reshape(2, 3)
        for each in variants(x):
            self.assertEqual(negate(each).tolist(), (-x).tolist())

    def test_in_place(self):
        negate = typedcall.ufunc(module.negate, signature="(n)->(n)")
        x = numpy.arange(6, dtype="i4")
        negate(x, out=x)
        self.assertEqual(x.tolist(), [0, -1, -2, -3, -4, -5])
        negate(x[:-1], out=x[1:])  # NumPy copies overlapping arrays
        self.assertEqual(x.tolist(), [0, 0, 1, 2, 3, 4])


class Errors(unittest.TestCase):
    def test_exceptions(self):
        empty = numpy.zeros((3, 0))
        good = numpy.array([[1.0, 2.0], [3.0, 5.0]])
        for name in ("mean", "mean_or_status", "mean_or_fall_back"):
            mean = typedcall.ufunc(getattr(module, name))
            for each in variants(good):
                self.assertEqual(mean(each).tolist(), [1.5, 4.0])
            with self.assertRaisesRegex(ValueError, "no mean of nothing"):
                mean(empty)
            self.assertEqual(mean(good * 0 - 1).tolist(), [-1.0, -1.0])

    def test_rows_that_no_memory_holds(self):
        # The size of both rows in bytes overflows.
        row = numpy.lib.stride_tricks.as_strided(numpy.ones(1), (2**60 - 1,), (0,))
        with self.assertRaises(MemoryError):
            typedcall.ufunc(module.dot)(row, row)

    def test_the_callable_gets_arrays(self):
        given = []

        def mean(x):
            given.append((type(x), x.dtype, x.flags.writeable, x.tolist()))
            return 42.0

        typedcall.tag(mean, "*kd&d->i", module.addresses["mean_or_fall_back"],
                      flags=int(Flags.FALLS_BACK))
        made = typedcall.ufunc(mean)
        self.assertEqual(made(numpy.zeros((2, 0))).tolist(), [42.0, 42.0])
        self.assertEqual(given, [(numpy.ndarray, numpy.dtype("d"), False, [])] * 2)
        given.clear()

        def times(x, k):
            given.append((x.tolist(), k))
            return -1

        typedcall.tag(times, "*kdi->d", module.addresses["times"])
        self.assertEqual(typedcall.ufunc(times)(numpy.arange(4.0)[::2], numpy.int64(2**40)), -1.0)
        self.assertEqual(given, [([0.0, 2.0], 2**40)])

    def test_what_the_callable_writes_comes_back(self):
        def scaled(x, k):
            x[:] = x * 2
            return 1.0

        typedcall.tag(scaled, "*di->d", module.addresses["normalise"])
        made = typedcall.ufunc(scaled, signature="(n),()->(n),()")
        for x in variants(numpy.arange(4.0)):
            changed, result = made(x, numpy.int64(2**40))
            self.assertEqual((changed.tolist(), result), ([0.0, 2.0, 4.0, 6.0], 1.0))

    def test_refusals(self):
        for function, signature, error, text in (
            (module.twice, None, TypeError, r"writes to a buffer: say what is an output"),
            (module.norm, "(n)->(n)", TypeError, r"does not match the outputs of \(n\)->\(n\)"),
            (module.norm, "(n),(n)->()", TypeError, "does not match the inputs"),
            (module.norm, "()->()", TypeError, "does not match the inputs"),
            (module.normalise, "(n)->(m),()", TypeError, "the two must have the same length"),
            (module.utf8_length, None, TypeError, "types other than numbers"),
            (module.norm, "(n,m)->()", ValueError, "a buffer has one dimension with a name"),
            (module.norm, "n->()", ValueError, "is not a ufunc signature"),
            (module.norm, 1, TypeError, "signature must be a str"),
        ):
            with self.assertRaisesRegex(error, text):
                typedcall.ufunc(function, signature=signature)

    def test_a_signature_says_how_many_numbers(self):
        functions = support.build("default_functions")
        short = typedcall.ufunc(functions.by_position, signature="()->()")
        self.assertEqual((short.nin, short(3.0)), (1, functions.by_position(3.0)))
        whole = typedcall.ufunc(functions.by_position)
        self.assertEqual((whole.nin, whole(3.0, 4.0)), (2, functions.by_position(3.0, 4.0)))
        for signature, reason in (("(),(),()->()", "takes 2 numbers, not 3"),
                                  ("(n)->()", "has no buffers"), ("()->(),()", "takes")):
            with self.subTest(signature), self.assertRaisesRegex(TypeError, reason):
                typedcall.ufunc(functions.by_position, signature=signature)

    def test_pickling(self):
        norm = typedcall.ufunc(module.norm)
        self.assertIs(pickle.loads(pickle.dumps(norm)), norm)
        self.assertIs(typedcall.ufunc(module.norm), norm)
        dot = typedcall.ufunc(module.dot, signature="(n),(n)->()")
        self.assertIs(pickle.loads(pickle.dumps(dot)), dot)

    def test_nothing_is_kept_forever(self):
        def local(x):
            return 0.0

        typedcall.tag(local, "*kd->d", module.addresses["norm"])
        made = typedcall.ufunc(local)
        alive = weakref.ref(local)
        del local
        self.assertEqual(made(numpy.array([3.0, 4.0])), 5.0)
        del made
        gc.collect()
        self.assertIsNone(alive())
