"""Functions that fall back, from Python and in the libraries: the same as the Python function gives,
for arguments with a result and for those without one; and who refuses them, in which words."""

import concurrent.futures
import gc
import math
import pickle
import sys
import unittest

import support
import typedcall
from typedcall import Flags

functions = support.build("fallback_functions")

#: Name, signature of what Python gets, arguments with a result and without.
CASES = [
    ("root", "d->d", [(4.0,), (0,), (math.inf,), (-1.0,), (-math.inf,), ("x",)]),
    ("half", "d->d", [(3.0,), (2,), (-1.0,), (None,)]),
    ("c_root", "d->d", [(4.0,), (-1.0,)]),
    ("tenfold", "d->d", [(4.0,), (-2.0,), (-0.1,), (-1001.0,)]),
    ("gcd", "ii->i", [(12, 18), (7, 0), (-1, 1), (1 << 40, 1), (1.5, 1)]),
    ("square", "l->l", [(3,), (1 << 31,), (1 << 32,), (-(1 << 40),), (1 << 70,), (2.0,)]),
    ("is_even", "l->?", [(2,), (3,), (-1,)]),
    ("narrow", "f->f", [(3.0,), (-1.0,)]),
    ("at", "d->d", [(4.0,), (-1.0,)]),
]


def outcome(function, arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return type(result), result


def entry_of(name):
    return typedcall.entries(getattr(functions, name))[0]


class TypedFunctions(unittest.TestCase):
    @unittest.skipIf(support.IS_PYPY, "the flags are read, and accelerate() calls them")
    def test_give_what_the_function_gives(self):
        for name, signature, arguments in CASES:
            function = getattr(functions, name)
            own = typedcall.entries(function)[0].signature
            for asked in (signature, own):
                typed = typedcall.resolve(function, asked)
                self.assertEqual(typed.signature, own)
                self.assertTrue(typed.flags & Flags.FALLS_BACK)
                for each in arguments:
                    with self.subTest(name, asked=asked, arguments=each):
                        self.assertEqual(outcome(typed, each), outcome(function, each))

    def test_signatures_and_flags(self):
        self.assertEqual(typedcall.signatures(functions.root), ["d&d->i"])
        self.assertEqual(typedcall.signatures(functions.both), ["d&d->i", "l&l->i"])
        self.assertEqual(entry_of("root").flags, Flags.FALLS_BACK | Flags.THREAD_SAFE)
        self.assertEqual(entry_of("root").flags.asks(), "may fall back")
        self.assertEqual(entry_of("gcd").python_types(), (["i", "i"], "i"))
        self.assertEqual(entry_of("check").python_types(), (["d", "P"], "v"))

    def test_who_does_not_call_boxed_is_not_offered_them(self):
        for asked in ("d->d", "d&d->i"):
            with self.assertRaisesRegex(TypeError, r"'d&d->i' \(may fall back\)"):
                typedcall.resolve(functions.root, asked, capabilities=0)
        # A status is something else.
        with self.assertRaisesRegex(TypeError, "may fall back"):
            typedcall.resolve(functions.root, "d&d->i",
                              capabilities=Flags.NEEDS_THREAD | Flags.RETURNS_STATUS)

    @unittest.skipIf(support.IS_PYPY, "no call through cffi")
    def test_safe_casting(self):
        for asked in ("f&d->i", "f->d"):
            typed = typedcall.resolve(functions.root, asked, casting="safe")
            self.assertEqual(typed(4.0), 2.0)
            self.assertEqual(outcome(typed, (-1.0,)), outcome(functions.root, (-1.0,)))

    @unittest.skipIf(support.IS_PYPY, "no call through cffi")
    def test_without_a_value(self):
        typed = typedcall.resolve(functions.check, "dP->i")
        self.assertIsNone(typed(1.0, None))
        with self.assertRaisesRegex(ValueError, "no result for these arguments"):
            typed(-1.0, None)

    def test_pickle(self):
        if support.IS_PYPY:
            self.skipTest("no call through cffi")
        typed = typedcall.resolve(functions.root, "d->d")
        again = pickle.loads(pickle.dumps(typed))
        self.assertEqual((again(9.0), again.signature), (3.0, "d&d->i"))

    def test_tag(self):
        def mine(x):
            return "Python's" if x < 0 else math.sqrt(x)

        typedcall.tag(mine, "d&d->i", entry_of("c_root").address, flags=Flags.FALLS_BACK)
        self.assertEqual(typedcall.signatures(mine), ["d&d->i"])
        if not support.IS_PYPY:
            typed = typedcall.resolve(mine, "d->d")
            self.assertEqual((typed(4.0), typed(-1.0)), (2.0, "Python's"))

    @unittest.skipIf(support.IS_PYPY, "CPython's collector")
    def test_nothing_leaks(self):
        typed = typedcall.resolve(functions.root, "d->d")
        for count in (100, 2000):
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(count):
                outcome(typed, (-1.0,))
                typed(4.0)
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - before, 1000)


class WhoRefusesThem(unittest.TestCase):
    def test_libraries_that_have_no_way_back(self):
        makers = [lambda f: typedcall.ctypes_function(f)]
        if not support.IS_PYPY:
            makers.append(lambda f: typedcall.low_level_callable(f))
        try:
            import cffi  # noqa: F401
            makers.append(lambda f: typedcall.cffi_function(f))
        except ImportError:
            pass
        for make in makers:
            with self.assertRaisesRegex((TypeError, ImportError), "may fall back|No module|scipy"):
                make(functions.root)

    def test_cython(self):
        if support.IS_PYPY:
            self.skipTest("CPython only")
        self.assertNotIn("root", typedcall.cython_declarations(functions))


class Ufuncs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if support.IS_PYPY:
            raise unittest.SkipTest("CPython only")
        try:
            import numpy
        except ImportError:
            raise unittest.SkipTest("numpy is not installed") from None
        cls.numpy = numpy

    def test_give_what_the_function_gives(self):
        numpy = self.numpy
        for name, dtype, values in (("root", "d", [4.0, 0.25]), ("half", "d", [3.0, 1.0]),
                                    ("tenfold", "d", [4.0, -2.0, -0.5, 9.0]),
                                    ("square", "l", [3, 5, 1 << 31]), ("is_even", "l", [1, 2]),
                                    ("half_alone", "d", [1.0, 2.0])):
            function = getattr(functions, name)
            made = typedcall.ufunc(function)
            expected = [function(value) for value in numpy.array(values, dtype).tolist()]
            for many in (1, 700):
                with self.subTest(name, many=many):
                    given = numpy.array(values * many, dtype)
                    self.assertEqual(made(given).tolist(), expected * many)
        self.assertEqual(typedcall.ufunc(functions.gcd)(
            numpy.array([12, 7], "i"), numpy.array([18, 0], "i")).tolist(), [6, 7])

    def test_exceptions_come_out_as_they_were_set(self):
        numpy = self.numpy
        for name, dtype, bad in (("root", "d", -1.0), ("half", "d", -1.0), ("tenfold", "d", -1001.0),
                                 ("half_alone", "d", -2.0), ("is_even", "l", -2)):
            function = getattr(functions, name)
            for length in (1, 10, 5000):
                given = numpy.ones(length, dtype)
                given[length // 2] = bad
                with self.subTest(name, length=length):
                    self.assertEqual(outcome(typedcall.ufunc(function), (given,)),
                                     outcome(function, (bad,)))

    def test_an_int_that_does_not_fit(self):
        with self.assertRaisesRegex(OverflowError, "does not fit a signed integer of 8 bytes"):
            typedcall.ufunc(functions.square)(self.numpy.array([3, 1 << 40]))

    def test_strided_cast_and_where(self):
        numpy = self.numpy
        made = typedcall.ufunc(functions.tenfold)
        given = numpy.array([4.0, -1.0, 9.0, -2.0] * 3000)
        self.assertEqual(made(given[::2])[:4].tolist(), [2.0, 3.0, 2.0, 3.0])
        self.assertEqual(made(numpy.array([4, -1], "f")).tolist(), [2.0, -10.0])
        out = numpy.zeros(4)
        made(given[:4], out=out, where=[True, False, False, True])
        self.assertEqual(out.tolist(), [2.0, 0.0, 0.0, -20.0])

    def test_in_threads(self):
        numpy = self.numpy
        made = typedcall.ufunc(functions.tenfold)
        given = numpy.where(numpy.arange(20000) % 50 == 0, -1.0, 4.0)
        expected = numpy.where(given < 0, -10.0, 2.0).tolist()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for made_list in pool.map(lambda _: made(given).tolist(), range(8)):
                self.assertEqual(made_list, expected)

    def test_the_collector_sees_what_it_falls_back_to(self):
        def mine(x):
            return x

        typedcall.tag(mine, "d&d->i", entry_of("c_root").address, flags=Flags.FALLS_BACK)
        made = typedcall.ufunc(mine, name="mine")
        self.assertEqual(made(-3.0), -3.0)
        import weakref

        gone = weakref.ref(mine)
        mine.made = made  # a cycle
        del mine, made
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
