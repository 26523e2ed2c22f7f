"""Functions that fall back, from Python and in the libraries: the same as the Python function gives,
for arguments with a result and for those without one; and who refuses them, in which words."""

import concurrent.futures
import gc
import importlib.util
import math
import pickle
import signal
import sys
import unittest

import adapter_support
import support
import typedcall
from support import leaks
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
    def test_give_what_the_function_gives(self):
        for name, signature, arguments in CASES:
            if support.IS_PYPY and name == "at":
                continue  # takes self, which cffi cannot pass
            function = getattr(functions, name)
            own = typedcall.entries(function)[0].signature
            for asked in (signature, own):
                typed = typedcall.resolve(function, asked)
                self.assertEqual(typed.signature, own)
                self.assertTrue(typed.flags & Flags.FALLS_BACK)
                for each in arguments:
                    with self.subTest(name, asked=asked, arguments=each):
                        expected, found = outcome(function, each), outcome(typed, each)
                        if support.IS_PYPY and expected[0] in (TypeError, OverflowError):
                            # Of what PyPy itself converts the words are others.
                            expected, found = expected[0], found[0]
                        self.assertEqual(found, expected)

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

    @support.ON_CPYTHON  # nothing is converted
    def test_safe_casting(self):
        for asked in ("f&d->i", "f->d"):
            typed = typedcall.resolve(functions.root, asked, casting="safe")
            self.assertEqual(typed(4.0), 2.0)
            self.assertEqual(outcome(typed, (-1.0,)), outcome(functions.root, (-1.0,)))

    @support.ON_CPYTHON  # nothing is converted
    def test_the_very_types_come_before_a_cast(self):
        typed = typedcall.resolve(functions.exact_or_cast, "i->d", casting="safe")
        self.assertEqual((typed(3), functions.exact_or_cast(3)), (3.5, 3.5))

    @support.ON_CPYTHON  # cffi passes no pointers
    def test_without_a_value(self):
        typed = typedcall.resolve(functions.check, "dP->i")
        self.assertIsNone(typed(1.0, None))
        with self.assertRaisesRegex(ValueError, "no result for these arguments"):
            typed(-1.0, None)

    def test_pickle(self):
        typed = typedcall.resolve(functions.root, "d->d")
        again = pickle.loads(pickle.dumps(typed))
        self.assertEqual((again(9.0), again.signature), (3.0, "d&d->i"))

    def test_tag(self):
        def mine(x):
            return "Python's" if x < 0 else math.sqrt(x)

        typedcall.tag(mine, "d&d->i", entry_of("c_root").address, flags=Flags.FALLS_BACK)
        self.assertEqual(typedcall.signatures(mine), ["d&d->i"])
        typed = typedcall.resolve(mine, "d->d")
        self.assertEqual((typed(4.0), typed(-1.0)), (2.0, "Python's"))

    @support.ON_CPYTHON  # cffi says first what it does not take
    def test_what_only_the_python_function_takes(self):
        def mine(x):
            return str(x)

        typedcall.tag(mine, "d&d->i", entry_of("c_root").address, flags=Flags.FALLS_BACK)
        typed = typedcall.resolve(mine, "d->d")
        for x in (10**400, "text", None):
            self.assertEqual(typed(x), str(x))
        with self.assertRaisesRegex(TypeError, "mine.. missing 1 required"):
            typed()

    @support.ON_CPYTHON  # CPython's collector
    def test_nothing_leaks(self):
        typed = typedcall.resolve(functions.root, "d->d")
        leaks.check(lambda: (outcome(typed, (-1.0,)), typed(4.0)), 2000, warm_up=100, blocks=1000)


@support.ON_PYPY  # PyPy only
class Accelerated(unittest.TestCase):
    def test_give_what_the_function_gives(self):
        originals = {name: getattr(functions, name) for name, _, _ in CASES}
        done = typedcall.accelerate(functions, trust="thread_safe")
        self.addCleanup(typedcall.restore, functions)
        self.assertIn("root", done.accelerated)
        self.assertIn("both", done.accelerated)
        self.assertIn("takes self", done.refused["at"])
        for name, _, arguments in CASES:
            function = getattr(functions, name)
            for each in arguments:
                with self.subTest(name, arguments=each):
                    self.assertEqual(outcome(function, each), outcome(originals[name], each))
        self.assertEqual([functions.both(2), functions.both(2.0)], [3, 2.5])
        with self.assertRaisesRegex(ValueError, "no result for these arguments"):
            functions.both(-1)

    def test_it_is_the_native_function(self):
        before = functions.calls()
        typedcall.accelerate(functions)
        self.addCleanup(typedcall.restore, functions)
        self.assertEqual(functions.root(4.0), 2.0)
        self.assertEqual(functions.calls(), before + 1)
        with self.assertRaises(ValueError):
            functions.root(-4.0)
        self.assertEqual(functions.calls(), before + 3, "the native one, then Python's")


class WhoRefusesThem(unittest.TestCase):
    def test_libraries_that_have_no_way_back(self):
        makers = [("ctypes", typedcall.ctypes_function)]
        if not support.IS_PYPY and importlib.util.find_spec("scipy"):
            makers.append(("SciPy", lambda f: typedcall.low_level_callable(f)))
        if importlib.util.find_spec("cffi"):
            makers.append(("cffi", typedcall.cffi_function))
        for consumer, make in makers:
            with self.assertRaisesRegex(TypeError, "root has nothing for %s: 'd&d->i' may fall back, "
                                        "and %s cannot call .* \\(nan, say\\)" % ((consumer,) * 2)):
                make(functions.root)

    @support.ON_CPYTHON
    def test_cython(self):
        self.assertNotIn("root", typedcall.cython_declarations(functions))


@support.ON_CPYTHON
class Ufuncs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.numpy = adapter_support.library("numpy")

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


@support.ON_CPYTHON
class Numba(adapter_support.NumbaCalls):
    module = functions

    def test_give_what_the_function_gives(self):
        import numpy

        for options in ({}, {"nogil": True}):
            for name, arguments in (
                    ("root", [(4.0,), (0,), (math.inf,), (-1.0,), (-math.inf,), (True,)]),
                    ("half", [(3.0,), (2,), (-1.0,)]), ("c_root", [(4.0,), (-1.0,)]),
                    ("tenfold", [(4.0,), (-2.0,), (-0.1,), (-1001.0,)]),
                    ("square", [(3,), (1 << 31,), (1 << 32,), (-(1 << 40),)]),
                    ("is_even", [(2,), (3,), (-1,)]), ("both", [(2,), (2.0,), (-1,), (-1.0,)])):
                compiled, function = self.compiled(name, **options), getattr(functions, name)
                for each in arguments:
                    with self.subTest(name, arguments=each, **options):
                        expected = outcome(function, each)
                        if name == "square" and abs(each[0]) >= 1 << 32:
                            # An int that no int64 holds.
                            expected = (OverflowError,
                                        "Python int does not fit a signed integer of 8 bytes")
                        self.assertEqual(outcome(compiled, each), expected)
            narrow = self.compiled("narrow", **options)
            self.assertEqual(narrow(numpy.float32(3.0)), 1.5)
            self.assertEqual(outcome(narrow, (numpy.float32(-1.0),)),
                             outcome(functions.narrow, (-1.0,)))
            gcd = self.compiled("gcd", 2, **options)
            self.assertEqual(gcd(numpy.int32(12), numpy.int32(18)), 6)
            self.assertEqual(outcome(gcd, (numpy.int32(-1), numpy.int32(1))),
                             outcome(functions.gcd, (-1, 1)))

    def test_through_several_frames_and_in_loops(self):
        import numpy

        tenfold = functions.tenfold

        @self.numba.njit
        def inner(x):
            return tenfold(x) + 1

        @self.numba.njit
        def total(values):
            sum_ = 0.0
            for value in values:
                sum_ += inner(value)
            return sum_

        self.assertEqual(total(numpy.array([4.0, -1.0] * 5000)), 5000 * (3.0 - 9.0))
        with self.assertRaisesRegex(IndexError, "far below"):
            total(numpy.array([4.0] * 100 + [-2000.0]))
        self.assertEqual(total(numpy.array([4.0])), 3.0)

    def test_the_native_function_is_what_is_called(self):
        compiled = self.compiled("root")
        compiled(4.0)
        before = functions.calls()
        compiled(9.0)
        self.assertEqual(functions.calls(), before + 1)
        (code,) = compiled.inspect_llvm().values()
        self.assertIn(entry_of("root").address, adapter_support.called_by(code))

    def test_without_the_gil_in_threads(self):
        import numpy

        tenfold = functions.tenfold

        @self.numba.njit(nogil=True)
        def total(values):
            sum_ = 0.0
            for value in values:
                sum_ += tenfold(value)
            return sum_

        good = numpy.where(numpy.arange(20000) % 50 == 0, -1.0, 4.0)
        bad = numpy.array([4.0] * 1000 + [-2000.0])
        self.check_in_threads(total, good, bad, 400 * -10.0 + 19600 * 2.0, IndexError, "far below")

    def test_prange(self):
        import numpy

        tenfold, prange = functions.tenfold, self.numba.prange

        @self.numba.njit(parallel=True)
        def fill(values, out):
            for i in prange(len(values)):
                out[i] = tenfold(values[i])

        values = numpy.where(numpy.arange(20000) % 50 == 0, -1.0, 4.0)
        out = numpy.zeros(20000)
        fill(values, out)
        self.assertEqual(out.tolist(), numpy.where(values < 0, -10.0, 2.0).tolist())

    def test_try_and_except(self):
        tenfold = functions.tenfold

        @self.numba.njit
        def guarded(x):
            try:
                return tenfold(x)
            except Exception:
                return -77.0

        @self.numba.njit
        def inner(x):
            return tenfold(x)

        @self.numba.njit
        def further_out(x):
            try:
                return inner(x)
            except Exception:
                return -77.0

        for each in (guarded, further_out):
            self.assertEqual([each(x) for x in (4.0, -1.0, -2000.0)], [2.0, -10.0, -77.0])
            self.assertEqual(each(4.0), 2.0)
        with self.assertRaises(IndexError) as caught:
            inner(-2000.0)
        self.assertIsNone(caught.exception.__context__)
        self.assertIsNone(caught.exception.__cause__)

    def test_except_does_not_swallow_what_ends_programs(self):
        raised = []

        def mine(x):
            raise raised[0]

        typedcall.tag(mine, "d&d->i", entry_of("c_root").address, flags=Flags.FALLS_BACK)

        @self.numba.njit
        def guarded(x):
            try:
                return mine(x)
            except Exception:
                return -77.0

        raised[:] = [KeyError()]
        self.assertEqual(guarded(-1.0), -77.0)
        # Where a shell has started this in the background interrupts are ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raised[:] = [KeyboardInterrupt()]
        with self.assertRaises(KeyboardInterrupt):
            guarded(-1.0)
            for _ in range(1000):  # the interrupt comes between two of these
                pass
        raised[:] = [SystemExit()]
        seen = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda unraisable: seen.append(unraisable.exc_type)
        self.assertEqual(guarded(-1.0), -77.0)
        self.assertEqual(seen, [SystemExit])

    def test_what_is_no_number_is_refused(self):
        with self.assertRaisesRegex(self.numba.errors.TypingError, "other types than numbers"):
            self.compiled("check", 2)(1.0, 0)
        with self.assertRaisesRegex(self.numba.errors.TypingError, "takes self"):
            self.compiled("at")(1.0)


if __name__ == "__main__":
    unittest.main()
