"""Tests ufuncs whose operands overlap. Their results must be those of arrays that do not overlap."""

import ctypes
import random
import unittest

import adapter_support
import support
import typedcall
from overlap_support import FUNCTIONS, tagged

numpy = adapter_support.library("numpy")


#: A ufunc and its results for rows that do not overlap.
UFUNCS = {name: (typedcall.ufunc(function, signature=core), model) for name, (function, core, model) in FUNCTIONS.items()}
SHAPES = [(4,), (3, 4), (2, 5), (1, 1), (3, 0)]
COUNT = 300


def values(name, size):
    return (numpy.arange(size) ** 2 + 2).astype("l" if name == "ints" else "d")


def random_view(made, memory, shape):
    """Returns a view of this shape whose rows have gaps, lie backwards or overlap. Elements of one view never overlap."""
    step = made.choice([1, 1, 1, 2, -1, -2])
    by_row = made.choice([1, 1, 2, -1]) * abs(step) * max(shape[-1], 1)
    strides = [8 * step] if len(shape) == 1 else [8 * by_row, 8 * step]
    reach = [(size - 1) * by // 8 for size, by in zip(shape, strides)]
    least, most = -sum(min(0, each) for each in reach), sum(max(0, each) for each in reach)
    start = made.randrange(least, least + min(6, memory.size - most - least))
    return numpy.ndarray(shape, memory.dtype, memory, 8 * start, strides)


class Rows(unittest.TestCase):
    def check(self, name, inputs, outs, **options):
        """Calls the ufunc with these arrays, some of which share memory."""
        ufunc, model = UFUNCS[name]
        wanted = model(*[each.copy() for each in inputs])
        before = [(each.__array_interface__["data"][0], each.strides) for each in (*inputs, *outs)]
        ufunc(*inputs, out=outs, **options)
        for out, each in zip(outs, wanted if isinstance(wanted, tuple) else (wanted,)):
            self.assertEqual(out.tolist(), each.tolist(), (name, before))

    def test_in_place(self):
        for shape in SHAPES[:-1]:
            for name, (ufunc, _) in UFUNCS.items():
                with self.subTest(name, shape=shape):
                    x = values(name, numpy.prod(shape)).reshape(shape)
                    others = [numpy.zeros(shape[:-1] if name == "ints" else shape, x.dtype)] * (ufunc.nout - 1)
                    self.check(name, [x] * ufunc.nin, (x, *others))

    def test_the_second_output_is_the_input(self):
        for shape in SHAPES:
            x = values("two outputs", numpy.prod(shape)).reshape(shape)
            self.check("two outputs", [x], (numpy.zeros(shape), x))

    def test_one_of_two_inputs_is_the_output(self):
        for name in ("two inputs", "an input that is written to"):
            for i in range(2):
                with self.subTest(name, i=i):
                    inputs = [values(name, 8).reshape(2, 4), numpy.arange(8.0).reshape(2, 4)]
                    self.check(name, inputs, (inputs[i],))

    def test_a_result_in_the_input(self):
        x = values("ints", 12).reshape(3, 4)
        self.check("ints", [x], (numpy.zeros((3, 4), "l"), x[::-1, 1]))

    def test_columns_become_rows(self):
        x = values("reverse", 9).reshape(3, 3)
        wanted = x.T[:, ::-1].tolist()
        UFUNCS["reverse"][0](x, out=x, axes=[(0,), (1,)])
        self.assertEqual(x.tolist(), wanted)

    def test_arrays_of_other_types(self):
        x = numpy.arange(1, 5, dtype="f4")
        UFUNCS["reverse"][0](x, out=x)
        self.assertEqual(x.tolist(), [4.0, 3.0, 2.0, 1.0])

    def test_random_views(self):
        generator = random.Random(support.seeds.seed(5201))
        for _ in range(COUNT):
            shape = generator.choice(SHAPES)
            for name, (ufunc, _) in UFUNCS.items():
                if name == "ints" and 0 in shape:
                    continue  # there is no first element
                memory = values(name, 60)
                inputs = [random_view(generator, memory, shape) for _ in range(ufunc.nin)]
                outs = [random_view(generator, memory, shape)]
                if ufunc.nout == 2:  # results are undefined if two outputs overlap each other
                    outs.append(numpy.zeros(shape[:-1] if name == "ints" else shape, memory.dtype))
                self.check(name, inputs, tuple(outs))

    def test_rows_that_do_not_overlap_are_not_copied(self):
        passed = []

        @ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_ssize_t] * 2)
        def addresses(x, _, y, __):
            passed.append((x, y))

        ufunc = typedcall.ufunc(tagged(addresses, "*kd*d->v"), signature="(n)->(n)")
        both = numpy.zeros((2, 3, 4))
        for x, y in ((numpy.zeros((3, 4)), numpy.zeros((3, 4))), (both[0], both[1]), (both[:, 0], both[:, 1]),
                     (both[0, ::-1], both[1, ::-1])):
            passed.clear()
            ufunc(x, out=y)
            self.assertEqual(sorted(passed), sorted((one.ctypes.data, other.ctypes.data) for one, other in zip(x, y)))
        passed.clear()
        ufunc(x, out=x)  # this output is copied
        self.assertEqual(sorted(one for one, _ in passed), sorted(each.ctypes.data for each in x))
        self.assertFalse({other for _, other in passed} & {each.ctypes.data for each in x})


    def test_a_struct_of_numpy_that_is_not_known(self):
        # NumPy marks such a ufunc as an ordinary one, so its other fields count as unknown, too.
        from typedcall.numpy._numpy_bridge import make_ufunc

        half = typedcall.entries(support.build("typed_functions").half)[0]
        row = (half.signature, int(half.flags), half.address, half.keep_alive, None, (("d", 0, -1, -1, None),))
        types = bytes([numpy.dtype("d").num] * 2)
        for _ in range(100):
            with self.assertRaisesRegex(ImportError, "does not know NumPy's ufuncs"):
                make_ufunc("half", "", (row,), types, 1, 1, core="()->()")


class Elements(unittest.TestCase):
    """Loops over numbers read an element before they write it, and NumPy copies arrays that are shifted."""

    def test_random_views(self):
        functions = support.build("typed_functions")
        generator = random.Random(support.seeds.seed(5202))
        for function, codes in ((functions.add, "df"), (functions.half, "dlf"), (functions.inc, "lib"),
                                (functions.absolute, "lLdf"), (functions.half_float, "fl")):
            ufunc = typedcall.ufunc(function)
            for _ in range(COUNT):
                size = generator.choice([1, 5, 1500])
                memory = (numpy.arange(4 * size + 12) % 100).astype(generator.choice(codes))
                itemsize = memory.itemsize

                def view():
                    step = generator.choice([1, 1, 2, -1])
                    start = generator.randrange(6) + (0 if step > 0 else size)
                    return numpy.ndarray((size,), memory.dtype, memory, itemsize * start, (itemsize * step,))

                inputs, out = [view() for _ in range(ufunc.nin)], view()
                wanted = ufunc(*[each.copy() for each in inputs]).astype(out.dtype)
                ufunc(*inputs, out=out, casting="unsafe")
                self.assertEqual(out.tolist(), wanted.tolist(), (function, memory.dtype, size))

    def test_reductions_in_place(self):
        add = typedcall.ufunc(support.build("typed_functions").add)
        generator = random.Random(support.seeds.seed(5203))
        for _ in range(COUNT):
            first = numpy.arange(36).reshape(6, 6).astype(generator.choice("df"))
            axis, row = generator.randrange(2), generator.randrange(6)
            found = []
            for adding in (add, numpy.add):
                for call in (lambda x: adding.accumulate(x, axis, out=x),
                             lambda x: adding.accumulate(x[:3], axis, out=x[row // 2:][:3]),
                             lambda x: adding.reduce(x, axis, out=x[row]),
                             lambda x: adding.reduceat(x, [0, 2, 4], axis, out=x[:3] if axis == 0 else x[:, 3:]),
                             lambda x: adding.at(x, [0, row, row], x[row])):
                    x = first.copy()
                    call(x)
                    found.append(x.tolist())
            self.assertEqual(found[:5], found[5:])
