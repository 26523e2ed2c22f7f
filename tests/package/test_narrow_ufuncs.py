"""Tests ufuncs of functions with narrow parameters. Like the wrappers, they raise OverflowError for ints that do not
fit, and round doubles."""

import concurrent.futures
import ctypes
import unittest

import adapter_support
import support
from narrow_support import functions, outcome
import typedcall
from support import leaks


@support.ON_CPYTHON
class Ufuncs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.numpy = adapter_support.library("numpy")

    def test_lists_and_python_ints(self):
        larger = typedcall.ufunc(functions.larger_i)
        self.assertEqual(larger([1, 5, -3], 2).tolist(), [2, 5, 2])
        self.assertEqual(larger(3, 5), 5)
        self.assertEqual(larger([1, 2], [3, 4]).dtype, "l")
        self.assertEqual(larger.reduce([1, 9, -3]), 9)
        for length in (5, 600):
            steps = self.numpy.arange(length) % 7
            self.assertEqual(larger.accumulate(steps).tolist(),
                             self.numpy.maximum.accumulate(steps).tolist())
        self.assertEqual(outcome(larger, 2**40, 1), outcome(functions.larger_i, 2**40, 1))
        self.assertEqual(outcome(larger, [1, -(2**31) - 1], 1),
                         outcome(functions.larger_i, -(2**31) - 1, 1))
        for mixed in (("l", "L"), ("L", "l"), ("L", "i"), ("b", "L")):
            arrays = [self.numpy.array([1, 2], dtype) for dtype in mixed]
            self.assertEqual(larger(*arrays).tolist(), [1, 2])

    def test_results_that_come_back_before_they_are_wide(self):
        add = typedcall.ufunc(adapter_support.offering({"li->i": lambda a, b: a + b}))
        self.assertIn("ll->l", add.types)
        values = self.numpy.arange(600)
        self.assertEqual(add.accumulate(values).tolist(), values.cumsum().tolist())

    def check_truth(self, ask, given):
        """Checks that `ask` treats arrays of numbers like arrays of their truth values."""
        numpy = self.numpy
        for dtype in "?bBhHiIlLefdFD":
            values = numpy.array(given, "D" if dtype in "FD" else "d").astype(dtype)
            with self.subTest(dtype=dtype):
                self.assertEqual(ask(values[::-1]).tolist(), ask(values.astype(bool)[::-1]).tolist())

    def test_all_numbers_for_a_bool(self):
        negate = support.build("typed_functions").negate
        made = typedcall.ufunc(negate)
        self.check_truth(made, [0, 1, 2, 77, 0] * 100)
        for value in (0, 1, -1, 2**63, 0.0, -0.0, 0.25, float("nan"), 5e-324, 0j, 1e-9j):
            self.assertEqual(made(value), negate(value))
        self.assertEqual(made([1.5, 0]).dtype, bool)
        with self.assertRaises(TypeError):
            made("x")

    def test_all_numbers_for_a_bool_among_others(self):
        mixed = support.build("default_functions").mixed
        self.check_truth(lambda flags: typedcall.ufunc(mixed)(2.0, 3, flags, 4.0), [0, 1, 3, 0])
        self.assertEqual(outcome(typedcall.ufunc(mixed), 2.0, 2**15, 1, 4.0), outcome(mixed, 2.0, 2**15, 1, 4.0))

    def test_all_numbers_for_a_bool_beside_a_buffer(self):
        double, size = ctypes.c_double, ctypes.c_ssize_t
        made = ctypes.CFUNCTYPE(double, ctypes.POINTER(double), size, ctypes.c_bool)(
            lambda values, count, sign: values[0] if sign else -values[0])

        def first(values, sign):
            return made(values, len(values), sign)

        typedcall.tag(first, "*kd?->d", ctypes.cast(made, ctypes.c_void_p), flags=typedcall.Flags.ACQUIRES_GIL)
        self.check_truth(lambda flags: typedcall.ufunc(first)([5.0], flags), [0, 1, 3, 0])

    def test_no_bool_from_a_number_among_overloads(self):
        def overloaded(x):
            return x

        same = functions.same_b
        byte = typedcall.entries(same)[0]
        negate = typedcall.entries(support.build("typed_functions").negate)[0]
        typedcall.tag(overloaded, ["?->?", byte.signature], [negate.address, byte.address])
        self.assertEqual(typedcall.ufunc(overloaded)([True, False]).tolist(), [False, True])
        self.assertEqual(typedcall.ufunc(overloaded)([0, 2]).tolist(), [0, 2])
        with self.assertRaises(TypeError):
            typedcall.ufunc(overloaded)([0.5])

    def test_long_and_strided_arrays(self):
        numpy = self.numpy
        for name in ("larger_b", "larger_H", "larger_i", "larger_L", "larger_f"):
            made = typedcall.ufunc(getattr(functions, name))
            for length in (1, 255, 256, 257, 511, 513, 5000):
                one = numpy.arange(3 * length) % 100
                other = (numpy.arange(3 * length) * 7) % 90
                for step in (1, 3, -1, -2):
                    with self.subTest(name, length=length, step=step):
                        found = made(one[::step], other[::step])
                        self.assertEqual(found.tolist(),
                                         numpy.maximum(one[::step], other[::step]).tolist())
                bad = one[:length].copy()
                bad[length // 2] = 2**62 if name != "larger_L" else -1
                if name != "larger_f":
                    out = numpy.full(length, 77, made(1, 1).dtype)
                    with self.assertRaises(OverflowError):
                        made(bad, 5, out=out)
                    # The other elements are unchanged.
                    done = length // 2
                    self.assertEqual(out.tolist()[:done], numpy.maximum(bad[:done], 5).tolist())
                    self.assertEqual(set(out.tolist()[done:]), {77})

    def test_outputs_over_inputs(self):
        numpy = self.numpy

        # accumulate() reads an element that was just written.
        add = typedcall.ufunc(adapter_support.offering({"il->l": lambda a, b: a + b}), "add")
        self.assertEqual(add.types[:2], ["il->l", "ll->l"])
        values = numpy.arange(1000)
        self.assertEqual(add.reduce(values), values.sum())
        self.assertEqual(add.accumulate(values).tolist(), values.cumsum().tolist())
        expected = (values + 1).tolist()
        add(values, 1, out=values)
        self.assertEqual(values.tolist(), expected)
        shifted = numpy.arange(600)
        add(shifted[:-1], 1, out=shifted[1:])  # NumPy copies overlapping arrays
        self.assertEqual(shifted.tolist(), [0, *range(1, 600)])

    def test_each_value_chooses(self):
        chosen = typedcall.ufunc(functions.char_or_long)
        for length in (4, 1000):
            values = self.numpy.resize([127, 128, -128, -129], length)
            self.assertEqual(chosen(values).tolist(), self.numpy.resize([0, 1, 0, 1], length).tolist())
            self.assertEqual(chosen(values[::-1]).tolist(), chosen(values).tolist()[::-1])
        self.assertEqual(typedcall.ufunc(functions.three)(self.numpy.int8([5, -5])).tolist(), [0, 1])

    def test_a_narrow_float_stays_one_beside_an_int_that_does_not_fit(self):
        chosen = typedcall.ufunc(adapter_support.offering(
            {"fb->l": lambda x, n: 0, "dl->l": lambda x, n: 1, "fl->l": lambda x, n: 2}), "mine")
        self.assertEqual(chosen(self.numpy.float32(1.5), [5, 300]).tolist(), [0, 2])
        self.assertEqual(chosen(1.5, [5, 300]).tolist(), [1, 1])

    def test_results_that_no_array_has(self):
        either = typedcall.ufunc(adapter_support.offering({"b->b": lambda x: x, "l->d": lambda x: x}), "mine")
        self.assertEqual(either([5, -5]).tolist(), [5, -5])
        with self.assertRaisesRegex(TypeError, "depends on the value, and its result 'd' does not fit the array of 'l'"):
            either([5, 300])

    def test_overloads_of_bools_and_of_complex_numbers(self):
        for signatures, first, second, which in (
            (("f?->l", "bb->l"), "l", "?", 1),  # an int is passed as an int
            (("f?->l", "bd->l", "??->l", "bb->l"), "l", "?", 3),
            (("f?->l", "bb->l"), "d", "?", 0),
            (("b?->l", "dd->l"), "l", "?", 0),
            (("i?->l", "?f->l"), "?", "d", 1),
            (("ff->l", "ii->l"), "b", "B", 1),  # NumPy can cast both arguments for both overloads
            (("ff->l", "fi->l"), "f", "b", 1),
            (("iB->l", "L?->l"), "B", "?", 1),
        ):
            mine = adapter_support.offering({text: lambda a, b, n=n: n for n, text in enumerate(signatures)})
            with self.subTest(signatures=signatures, first=first, second=second):
                found = typedcall.ufunc(mine, "mine")(self.numpy.ones(3, first),
                                                      self.numpy.ones(3, second))
                self.assertEqual(found.tolist(), [which] * 3)
        # Overloads of doubles do not accept complex numbers. A long double counts as a double.
        address = typedcall.entries(mine)[0].address
        typedcall.untag(mine)
        typedcall.tag(mine, ("id->l", "fZd->l", "fg->l"), (address,) * 3)
        made = typedcall.ufunc(mine, "mine")
        self.assertLessEqual({"id->l", "ld->l", "fD->l", "dD->l", "lD->l"}, set(made.types))
        self.assertNotIn("lg->l", made.types)
        typedcall.untag(mine)

    def test_what_falls_back(self):
        def any_int(x):
            return x % 1000

        entry = typedcall.entries(functions.positive_i)[0]
        typedcall.tag(any_int, "i&i->i", entry.address, flags=entry.flags)
        self.addCleanup(typedcall.untag, any_int)
        made = typedcall.ufunc(any_int, "any_int")
        self.assertEqual(made([5, -1, 2**40 + 5, 8] * 300).tolist(), [5, 999, 781, 8] * 300)

    def test_in_threads(self):
        numpy = self.numpy
        made = typedcall.ufunc(functions.larger_i)
        good = numpy.arange(50000)
        bad = numpy.append(good, 2**31)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(made, bad if i % 2 else good, 3) for i in range(16)]
            for i, future in enumerate(futures):
                if i % 2:
                    with self.assertRaisesRegex(OverflowError, "signed integer of 4 bytes"):
                        future.result()
                else:
                    self.assertEqual(future.result().tolist(), numpy.maximum(good, 3).tolist())

    def test_nothing_leaks(self):
        made = typedcall.ufunc(functions.same_b)
        leaks.check(lambda: outcome(made, [1, 128]), 2000, warm_up=100, blocks=500)

    def test_what_does_not_lead_to_the_function(self):
        from typedcall.numpy import _numpy_bridge

        entry = typedcall.entries(functions.same_i)[0]
        of_entry = entry.signature, int(entry.flags), entry.address
        row = (*of_entry, functions.same_i, functions.same_i)
        for asked in ("d->i", "l->d", "ll->l", "Zd->i", "i->i", "d->l", "nonsense"):
            with self.subTest(asked=asked), self.assertRaises(ValueError):
                _numpy_bridge.make_ufunc("x", "", ((*row, asked, (of_entry,)),), b"\0\0", 1, 1)
        with self.assertRaisesRegex(ValueError, "rows to choose among"):
            _numpy_bridge.make_ufunc("x", "", ((*row, "l->l"),), b"\0\0", 1, 1)
