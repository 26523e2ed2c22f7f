"""Tests functions that fall back. test_matrix.py tests calls to them."""

import concurrent.futures
import importlib.util
import math
import pickle
import unittest

import adapter_support
import support
import typedcall
from narrow_support import outcome
from typedcall import Flags

functions = support.build("fallback_functions")


def entry_of(name):
    return typedcall.entries(getattr(functions, name))[0]


class TypedFunctions(unittest.TestCase):
    def test_signatures_and_flags(self):
        self.assertEqual(typedcall.signatures(functions.root), ["d&d->i"])
        self.assertEqual(typedcall.signatures(functions.both), ["d&d->i", "l&l->i"])
        self.assertEqual(entry_of("root").flags, Flags.FALLS_BACK | Flags.THREAD_SAFE)
        self.assertEqual(entry_of("root").flags.requirements(), "may fall back")
        self.assertEqual(entry_of("gcd").python_types(), (["i", "i"], "i"))
        self.assertEqual(entry_of("check").python_types(), (["d", "P"], "v"))

    @support.ON_CPYTHON  # cffi cannot pass self
    def test_self(self):
        typed = typedcall.resolve(functions.at, "d->d")
        self.assertEqual(typed(4.0), 2.0)
        self.assertEqual(outcome(typed, -1.0), outcome(functions.at, -1.0))

    def test_who_does_not_call_boxed_is_not_offered_them(self):
        for asked in ("d->d", "d&d->i"):
            with self.assertRaisesRegex(TypeError, r"'d&d->i' \(may fall back\)"):
                typedcall.resolve(functions.root, asked, capabilities=0)
        # A caller that handles a status does not handle functions that fall back.
        with self.assertRaisesRegex(TypeError, "may fall back"):
            typedcall.resolve(functions.root, "d&d->i",
                              capabilities=Flags.NEEDS_THREAD | Flags.RETURNS_STATUS)

    @support.ON_CPYTHON  # PyPy converts no arguments
    def test_safe_casting(self):
        for asked in ("f&d->i", "f->d"):
            typed = typedcall.resolve(functions.root, asked, casting="safe")
            self.assertEqual(typed(4.0), 2.0)
            self.assertEqual(outcome(typed, -1.0), outcome(functions.root, -1.0))

    @support.ON_CPYTHON  # PyPy converts no arguments
    def test_the_very_types_come_before_a_cast(self):
        typed = typedcall.resolve(functions.exact_or_cast, "i->d", casting="safe")
        self.assertEqual((typed(3), functions.exact_or_cast(3)), (3.5, 3.5))

    @support.ON_CPYTHON  # PyPy calls through cffi, which does not pass pointers
    def test_without_a_value(self):
        for asked in ("dP->i", "dP->v"):
            self.check_without_a_value(asked)
        with self.assertRaisesRegex(TypeError, r"does not offer 'dP->v'; it offers 'dP->i' \(may fall back\)"):
            typedcall.resolve(functions.check, "dP->v", capabilities=0)
        # Here the last pointer is the place of a result, and an int that is no status is a result.
        for function, asked in ((functions.root, "d&d->v"), (functions.narrow, "i->v")):
            with self.assertRaisesRegex(TypeError, f"does not offer '{asked}'"):
                typedcall.resolve(function, asked)

    def check_without_a_value(self, asked):
        typed = typedcall.resolve(functions.check, asked)
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

    def test_what_only_the_python_function_takes(self):
        class Refusing:
            def __float__(self):
                raise ValueError("no float")

        for flags in (Flags(0), Flags.THREAD_SAFE):
            def mine(x):
                return str(x)

            typedcall.tag(mine, "d&d->i", entry_of("c_root").address, flags=flags | Flags.FALLS_BACK)
            typed = typedcall.resolve(mine, "d->d")
            for x in (10**400, "text", None, 1j, Refusing()):
                self.assertEqual(typed(x), str(x), flags)
            with self.assertRaisesRegex(TypeError, "mine.. missing 1 required"):
                typed()

    def test_the_python_function_gets_what_was_passed(self):
        for flags in (Flags(0), Flags.THREAD_SAFE):
            def mine(a, b=None):
                return a, b

            typedcall.tag(mine, entry_of("gcd").signature, entry_of("gcd").address, flags=flags | Flags.FALLS_BACK,
                          parameters="(a, b=2)")
            typed = typedcall.resolve(mine, "ii->i")
            self.assertEqual((typed(6), typed(-1), typed(b=-3, a=1)), (2, (-1, None), (1, -3)), flags)


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

    def test_exceptions_come_out_as_they_were_set(self):
        numpy = self.numpy
        for name, dtype, bad in (("root", "d", -1.0), ("half", "d", -1.0), ("tenfold", "d", -1001.0),
                                 ("half_alone", "d", -2.0), ("is_even", "l", -2)):
            function = getattr(functions, name)
            for length in (1, 10, 5000):
                given = numpy.ones(length, dtype)
                given[length // 2] = bad
                with self.subTest(name, length=length):
                    self.assertEqual(outcome(typedcall.ufunc(function), given), outcome(function, bad))

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


@support.ON_CPYTHON
class Numba(adapter_support.NumbaCalls):
    module = functions

    def test_the_native_function_is_what_is_called(self):
        compiled = self.compiled("root")
        compiled(4.0)
        (code,) = compiled.inspect_llvm().values()
        self.assertIn(entry_of("root").address, adapter_support.called_by(code))

    def test_what_is_no_number_is_refused(self):
        with self.assertRaisesRegex(self.numba.errors.TypingError, "types other than numbers"):
            self.compiled("check", 2)(1.0, 0)
        with self.assertRaisesRegex(self.numba.errors.TypingError, "takes self"):
            self.compiled("at")(1.0)
