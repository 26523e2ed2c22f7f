"""Tests ufuncs of overloads with arrays of types for which there is no loop: the overload is Python's choice."""
import ctypes
import itertools
import pickle
import threading
import unittest
import warnings

import adapter_support
import support
import typedcall

numpy = adapter_support.library("numpy")
module = support.build("overload_functions")
#: The calls of Python functions, and the numbers of C functions.
in_python = []


def numbered(*signatures):
    """Returns a function whose overload `n` returns n. Python returns 100."""
    types = {"?": ctypes.c_bool, "b": ctypes.c_int8, "h": ctypes.c_int16, "i": ctypes.c_int, "I": ctypes.c_uint, "l": ctypes.c_long,
             "L": ctypes.c_ulong, "f": ctypes.c_float, "d": ctypes.c_double}

    def function(*arguments):
        in_python.append(arguments)
        return 100

    made = []
    for at, signature in enumerate(signatures):
        letters = signature.split("->")[0]
        result = types[signature[-1]]
        known = all(each in types for each in letters)
        made.append(ctypes.CFUNCTYPE(result, *(map(types.get, letters) if known else ()))(lambda *given, at=at: at))
    typedcall.tag(function, list(signatures), [ctypes.cast(each, ctypes.c_void_p) for each in made],
                  flags=typedcall.Flags.ACQUIRES_GIL)
    function.kept = made
    in_python.clear()
    return function


class Types(unittest.TestCase):
    def test_what_numpy_would_cast_to_another_overload(self):
        for signatures, given, which in (
            (("i->l", "d->l"), "h", 0), (("Zf->l", "Zd->l"), "l", 0), (("Zd->l", "Zf->l"), "i", 0), (("Zd->l", "Zf->l"), "f", 0),
            (("g->l", "d->l"), "d", 0), (("d->l", "g->l"), "g", 0), (("d->l", "g->l"), "e", 0), (("Zf->l", "g->l"), "h", 0),
            (("b->l", "Zd->l"), "q", 0), (("bd->l", "lZd->l"), "h", 0), (("Zd->l", "O->l"), "?", 0),
        ):
            with self.subTest(signatures, given=given):
                made = typedcall.ufunc(numbered(*signatures), "mine")
                arrays = [numpy.ones(3, given)] * made.nin
                self.assertEqual(made(*arrays).tolist(), [which] * 3)
                self.assertEqual(in_python, [])

    def test_python_is_given_the_elements(self):
        made = typedcall.ufunc(numbered("O->l", "d->l"), "mine")
        for given in (numpy.array([True, False]), numpy.array([2, -3], "int8"), numpy.array([1, 2], "uint64")):
            in_python.clear()
            self.assertEqual(made(given).tolist(), [100, 100])
            self.assertEqual(repr(in_python), repr([(each,) for each in given.tolist()]))
        self.assertEqual(made(numpy.array([0.5])).tolist(), [1])

    def test_rounded_once_as_by_python(self):
        @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_longdouble)
        def passed(x):
            return float(x - 2**62)

        def function(x):
            raise NotImplementedError

        typedcall.tag(function, ["g->d", "?->d"], [ctypes.cast(passed, ctypes.c_void_p)] * 2, flags=typedcall.Flags.ACQUIRES_GIL)
        made = typedcall.ufunc(function, "mine")
        value = 2**62 + 2**38 + 1
        self.assertEqual(made(numpy.array([value, 2**62])).tolist(), [float(value) - 2**62, 0.0])
        self.assertEqual(made(numpy.arange(3, dtype="int32")).tolist(), [-2.0**62] * 3)

    def test_no_overload(self):
        made = typedcall.ufunc(numbered("?->l", "i->l"), "mine")
        with self.assertRaisesRegex(TypeError, "not supported for the input types"):
            made(numpy.ones(3))
        with self.assertRaisesRegex(TypeError, "not supported for the input types"):
            made(numpy.array(["text"]))

    def test_results_that_no_array_can_hold(self):
        made = typedcall.ufunc(numbered("ib->?", "lb->l"), "mine")
        self.assertEqual(made(numpy.ones(1, "int16"), numpy.ones(1, "int8")).dtype, bool)
        with self.assertRaisesRegex(TypeError, "depends on the values, .* its results, [?], l; cast"):
            made(numpy.ones(1, "uint32"), numpy.ones(1, "int8"))

    def test_long_doubles_are_not_cast(self):
        made = typedcall.ufunc(numbered("d->l", "l->l"), "mine")
        with self.assertRaisesRegex(TypeError, "not supported for the input types"):
            made(numpy.ones(1, "longdouble"))


class Calls(unittest.TestCase):
    def made(self):
        return typedcall.ufunc(numbered("Zff->l", "Zdd->l"), "mine")

    def test_it_is_planned_once(self):
        made = self.made()
        before = made.ntypes
        for _ in range(3):
            self.assertEqual(made(numpy.ones(2, "int64"), numpy.ones(2, "float32")).tolist(), [0, 0])
        self.assertEqual(made.ntypes, before + 1)

    def test_many_types(self):
        made = typedcall.ufunc(numbered("Zffffff->l", "Zdddddd->l"), "mine")
        for letters in itertools.product("blL", repeat=6):
            self.assertEqual(made(*(numpy.ones(1, each) for each in letters)).tolist(), [0])
        self.assertGreater(made.ntypes, 300)
        self.assertEqual(made(*(numpy.ones(1, "b"),) * 6).tolist(), [0])

    def test_other_ways_to_call(self):
        made = self.made()
        one = numpy.arange(3)
        self.assertEqual(made.outer(one, one).tolist(), [[0] * 3] * 3)
        self.assertEqual(made(one, one, out=numpy.empty(3, "int64")).tolist(), [0] * 3)
        self.assertEqual(made(one, one, where=[True, False, True], out=numpy.full(3, 7)).tolist(), [0, 7, 0])
        add = typedcall.ufunc(numbered("Zfb->l", "bb->l", "ll->l"), "mine")
        self.assertEqual((add.reduce(numpy.ones(4, "int16")), add.reduce(numpy.full(3, 1000, "int16"))), (1, 2))
        self.assertEqual(add.accumulate(numpy.full(4, 1000, "int32")).tolist(), [1000, 2, 2, 2])
        if hasattr(made, "resolve_dtypes"):
            self.assertEqual(made.resolve_dtypes((numpy.dtype("int8"), numpy.dtype("int64"), None))[2], numpy.dtype("int64"))

    def test_types_that_the_caller_names(self):
        made = self.made()
        self.assertEqual(made(numpy.ones(2, "int64"), numpy.ones(2, "int64"), signature=("D", "d", "l")).tolist(), [1, 1])
        self.assertEqual(made(numpy.ones(2, "int64"), numpy.ones(2, "int64"), dtype="int64").tolist(), [0, 0])

    def test_numbers_of_python(self):
        made = typedcall.ufunc(numbered("bb->l", "ll->l", "dd->l"), "mine")
        self.assertEqual((made(1, 2), made(1, 1000), made(0.5, 2), made(True, 2.5)), (0, 1, 2, 2))
        self.assertEqual(made(numpy.ones(1, "int8"), 2).tolist(), [0])

    def test_numbers_beside_arrays_do_not_depend_on_earlier_calls(self):
        function = numbered("Zfg->l", "bi->l", "I?->d")
        for number, which in ((300, 1), (-1, 1), (2.5, 0)):
            made = typedcall.ufunc(function, "mine")
            found = made(numpy.ones(1, "int64"), number)
            self.assertEqual(found.tolist(), [which])
            made = typedcall.ufunc(function, "mine")
            for one, other in itertools.product("bhilBHILefd", repeat=2):
                try:
                    made(numpy.ones(1, one), numpy.ones(1, other))
                except TypeError:
                    pass
            self.assertEqual(repr(made(numpy.ones(1, "int64"), number)), repr(found))

    def test_ints_beside_ints_are_no_floats(self):
        made = typedcall.ufunc(numbered("bH->l", "bI->l", "if->l", "IH->l"), "mine")
        self.assertEqual(made(3, numpy.array([-5, 200])).tolist(), [100, 0])
        self.assertEqual(made(numpy.array([3, 2**40]), 200).tolist(), [0, 100])
        made = typedcall.ufunc(numbered("bH->l", "bI->h", "if->h", "IH->?"), "mine")
        with self.assertRaisesRegex(TypeError, "l, l depends on the values"):
            made(3, numpy.array([-5, 200]))

    def test_floats_of_python_have_the_type_of_the_array_beside(self):
        made = typedcall.ufunc(numbered("ff->l", "dd->l"), "mine")
        before = made.ntypes
        # An int that is too large for int64 beside an array is an object before NumPy 2.
        for number in (2.5, 2, 2**70 if numpy.__version__ >= "2" else 3):
            self.assertEqual(made(numpy.ones(1, "float32"), number).tolist(), [0])
            self.assertEqual(made(numpy.ones(1), number).tolist(), [1])
        self.assertEqual(made.ntypes, before)

    def test_types_with_two_names_share_a_loop(self):
        made = self.made()
        before = made.ntypes
        for one in "lq":
            made(numpy.ones(2, one), numpy.ones(2, "float32"))
        self.assertEqual((made.ntypes, len(set(made.types))), (before + 1, before + 1))

    def test_pickles_after_calls(self):
        made = typedcall.ufunc(getattr(module, "of ii ld dd"))
        before = pickle.dumps(made)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for each in "?bBhHiIlLfdFDgG":
                try:
                    made(*[numpy.ones(1, each)] * made.nin)
                except TypeError:
                    pass
        self.assertEqual(pickle.dumps(made), before)
        self.assertIs(pickle.loads(before), made)

    def test_threads(self):
        function = numbered("Zff->l", "Zdd->l")
        made = typedcall.ufunc(function, "mine")
        arrays = [numpy.ones(5, each) for each in "bBhHiIlLqQ"]
        wrong, barrier = [], threading.Barrier(4)

        def run():
            barrier.wait()
            for one, other in itertools.product(arrays, repeat=2):
                found = made(one, other).tolist()
                if found != [0] * 5:
                    wrong.append(found)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])

    def test_it_goes_with_its_loops(self):
        import gc
        import weakref

        function = numbered("Zf->l", "Zd->l")
        made = typedcall.ufunc(function, "mine")
        made(numpy.ones(3, "int64"))
        gone = weakref.ref(function)
        del function, made
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
