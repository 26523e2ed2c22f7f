"""Tests typed functions in Numba's nopython code, and Numba's C callbacks as typed functions."""

import ctypes
import gc
import math
import random
import unittest
import warnings

import adapter_support
import support
import typedcall
from typedcall import Flags

numba = adapter_support.library("numba")
numpy = adapter_support.library("numpy")
functions = support.build("typed_functions")


def refusal(function, *arguments):
    """Returns the message of the TypingError."""
    try:
        numba.njit(function)(*arguments)
    except numba.core.errors.TypingError as error:
        return str(error)
    raise AssertionError("it was compiled")


class Calls(unittest.TestCase):
    def test_complex_and_several_numbers(self):
        call = numba.njit(lambda x, i: (functions.turn(complex(x, 1.0)), functions.mix(x, i, x, i)))
        self.assertEqual(call(2.5, 127), (-1 + 2.5j, 635.0))

    def test_it_is_the_c_function(self):
        @numba.njit
        def call(x):
            return functions.half(x)

        call(1.0)
        (code,) = call.inspect_llvm().values()
        address = typedcall.entries(functions.half)[0].address
        self.assertEqual(adapter_support.called_by(code), {address})

    def test_void_and_no_arguments(self):
        @numba.njit
        def call():
            functions.count()
            functions.count()
            return functions.counted()

        before = functions.counted()
        self.assertEqual(call(), before + 2)

    def test_pointers(self):
        @numba.njit
        def call(values):
            return functions.sum_of(values.ctypes, len(values))

        self.assertEqual(call(numpy.arange(5.0)), 10.0)
        self.assertIn(
            "has nothing",
            refusal(lambda a: functions.sum_of(a.ctypes, 1), numpy.arange(5, dtype="int32")),
        )

    # --- The overload that the boxed call would choose -----------------------------------------

    def overloaded(self, signatures):
        """Returns a function with these overloads. Each overload returns its index."""
        return adapter_support.offering({text: lambda x, n=n: n for n, text in enumerate(signatures)})

    def test_an_int_that_does_not_fit_becomes_no_float(self):
        compiled = numba.njit(lambda x: functions.absolute(x))
        self.assertEqual(compiled(numpy.uint64(5)), 5)
        for call in (
            lambda: functions.absolute(2**63),
            lambda: compiled(numpy.uint64(2**63)),
            numba.njit(lambda: functions.absolute(9223372036854775808)),
        ):
            with self.assertRaisesRegex(OverflowError, "no overload for the int in argument 1"):
                call()
        self.assertEqual(numba.njit(lambda: functions.absolute(-9223372036854775807))(), 2**63 - 1)
        # If no overload takes ints, an int becomes a float.
        self.assertEqual(numba.njit(lambda x: functions.half(x))(numpy.uint64(2**63)), 2.0**62)

    def test_the_overload_of_the_boxed_call(self):
        """Tests cases that are not in the matrix."""
        cases = [
            # Each row contains the overloads, an argument, and the index of the chosen overload.
            (("d->i", "f->i"), numpy.float32(1), 1),
            (("f->i", "l->i"), 1.5, 0),
            # The value chooses the overload.
            (("b->i", "B->i", "l->i"), numpy.int64(255), 1),
            (("b->i", "B->i", "l->i"), numpy.int64(-129), 2),
            (("l->i", "d->i"), numpy.uint64(1), 0),
            (("i->i", "d->i"), numpy.uint32(1), 0),
            (("L->i", "b->i"), numpy.int64(-1), 1),
        ]
        for signatures, argument, wanted in cases:
            with self.subTest(signatures=signatures, argument=argument):
                chosen = self.overloaded(signatures)
                self.assertEqual(numba.njit(lambda x: chosen(x))(argument), wanted)

    def test_a_thousand_overloads(self):
        numbers, calls = random.Random(support.seeds.seed(1)), []
        rows = [*{"".join(numbers.choices("bBhHiIlL", k=11)) for _ in range(1000)}]
        signatures = [f"{row}->i" for row in rows]
        made = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_long] * 11)(lambda *given: calls.append("C") or 1)

        def chosen(*given):
            calls.append("Python")
            return 1

        address = ctypes.cast(made, ctypes.c_void_p).value
        typedcall.tag(chosen, signatures, [address] * len(signatures), flags=Flags.ACQUIRES_GIL)
        compiled = adapter_support.nopython_call(chosen, 11)
        for value in (1, 2**40):
            self.assertEqual(compiled(*[value] * 11), 1)
        # Small ints suit the first overload. For others, compiled code tries some overloads, and Python tries the rest.
        self.assertEqual(calls, ["C", "Python"])
        message = refusal(lambda x: chosen(x), 1.5)
        self.assertIn("and 991 more", message)
        self.assertLess(len(message), 5000)

    def test_results_of_several_types_are_refused(self):
        chosen = adapter_support.offering({"b->b": abs, "l->l": abs})
        message = refusal(lambda x: chosen(x), numpy.int64(1))
        self.assertIn("depends on the value of argument 1", message)
        compiled = numba.njit(lambda x: (chosen(x), chosen(-3), chosen(-300)))
        self.assertEqual(compiled(numpy.int8(-5)), (5, 3, 300))

    def test_literals_are_decided(self):
        chosen = self.overloaded(("b->i", "l->i", "d->i"))
        self.assertEqual(numba.njit(lambda: chosen(1))(), 0)
        self.assertEqual(numba.njit(lambda: chosen(300))(), 1)
        # Numba compiles the call once for all values of a type.
        steps = self.overloaded(("b->i", "i->i", "d->i"))
        both = numba.njit(lambda x: 10 * steps(x) + steps(300))
        self.assertEqual([both(numpy.int32(x)) for x in (3, 300)], [1, 11])
        narrow = self.overloaded(("b->i", "d->i"))
        self.assertEqual(numba.njit(lambda: narrow(300.0))(), 1)
        for function, literal in ((chosen, 2**63), (narrow, 300)):
            with self.assertRaises(NotImplementedError):
                numba.njit(lambda: function(literal))()

    def test_an_overload_that_cannot_be_called_is_not_replaced(self):
        plain = support.build("plain_functions")

        def chosen(x):
            raise NotImplementedError

        made = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_long)(abs)
        typedcall.tag(chosen, ("l->l", "d->d"), (made, plain.addresses["half"]),
                      flags=Flags.SETS_ERRNO)
        self.assertIn("sets errno", refusal(lambda x: chosen(x), 3))

    def test_conversions_are_pythons(self):
        self.assertEqual(numba.njit(lambda: functions.half(3))(), 1.5)
        self.assertEqual(numba.njit(lambda: functions.add(True, 2))(), 3.0)
        self.assertEqual(numba.njit(lambda: functions.next_byte(7))(), 8)  # 7 fits
        for refused in (
            lambda: functions.inc(2.5),
            lambda: functions.half(1j),
            lambda: functions.half(1.0, 2.0),
        ):
            self.assertIn("has nothing that nopython code can call", refusal(refused))
        # An int must not be truncated.
        for call in (numba.njit(lambda: functions.next_byte(256)), lambda: functions.next_byte(256)):
            with self.assertRaisesRegex(OverflowError, "not fit an unsigned integer of 1 bytes"):
                call()

    def test_what_compiled_code_cannot_give_is_refused(self):
        scale = functions.Scaler(2.0).scale
        message = refusal(lambda x: scale(x), 1.0)
        self.assertIn("Scaler.scale has nothing that nopython code can call", message)
        self.assertIn("takes self", message)
        self.assertIn("Numba has no type", refusal(lambda: functions.same_object(1.0)))
        self.assertIn("Numba has no type", refusal(lambda: functions.same_text("x")))
        self.assertIn("keyword arguments", refusal(lambda: functions.half(x=1.0)))

    def test_what_offers_nothing_is_numbas_own_error(self):
        plain = support.build("plain_functions")
        self.assertIn("Unknown attribute 'half'", refusal(lambda: plain.half(1.0)))

    def test_a_tag_that_comes_and_goes(self):
        plain = support.build("plain_functions")
        typedcall.tag(plain.half, "d->d", plain.addresses["half"])
        try:
            self.assertEqual(numba.njit(lambda: plain.half(3.0))(), 1.5)
            typedcall.untag(plain.half)
            typedcall.tag(plain.half, "d->d", plain.addresses["half_differs"])
            self.assertEqual(numba.njit(lambda: plain.half(3.0))(), 1001.5)
        finally:
            typedcall.untag(plain.half)
        refusal(lambda: plain.half(1.0))

    def test_what_numba_knows_stays_numbas(self):
        libm = ctypes.CDLL("libm.so.6")
        typedcall.tag(math.sin, "d->d", ctypes.cast(libm.cos, ctypes.c_void_p).value)
        try:
            self.assertEqual(numba.njit(lambda: math.sin(0.0))(), 0.0)
        finally:
            typedcall.untag(math.sin)

    def test_one_type_for_one_function(self):
        self.assertIs(numba.typeof(functions.half), numba.typeof(functions.half))
        self.assertNotEqual(numba.typeof(functions.half), numba.typeof(functions.square))

        @numba.njit
        def choose(flag, x):
            if flag:
                function = functions.half
            else:
                function = functions.half
            return function(x)

        self.assertEqual(choose(True, 3.0), 1.5)

    def test_functions_as_arguments(self):
        @numba.njit
        def twice(function, x):
            return function(function(x))

        self.assertEqual((twice(functions.half, 8.0), twice(functions.square, 3.0)), (2.0, 81.0))

    def test_from_other_compiled_code(self):
        @numba.njit
        def inner(x):
            return functions.half(x)

        @numba.njit
        def outer(x):
            return inner(x) + functions.square(x)

        self.assertEqual(outer(4.0), 18.0)
        threads = numba.njit(nogil=True)(lambda x: functions.slow(x))
        self.assertEqual(threads(1.0), 2.0)

    def test_one_warning_of_threads(self):
        def single(x):
            return x / 2

        entry, = typedcall.entries(functions.half)
        typedcall.tag(single, entry.signature, entry.address)
        safe = functions.half
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for function in (numba.njit(lambda x: single(x)), numba.njit(nogil=True)(lambda x: safe(x)),
                             numba.njit(nogil=True)(lambda x: single(x)), numba.njit(nogil=True)(lambda x: single(x) + 0)):
                self.assertEqual(function(5.0), 2.5)
        said = [str(each.message) for each in found if each.category is RuntimeWarning]
        self.assertEqual(len(said), 1, said)
        self.assertIn(".single is not declared THREAD_SAFE: ", said[0])

    def test_callables_of_other_kinds(self):
        special = adapter_support.library("scipy.special.cython_special")
        self.assertEqual(numba.njit(lambda x: special.gamma(x))(5.0), 24.0)
        resolved = typedcall.resolve(functions.half, "d->d")
        self.assertEqual(numba.njit(lambda x: resolved(x))(5.0), 2.5)


class Loading(unittest.TestCase):
    def test_nothing_is_imported_by_the_user(self):
        self.assertEqual(support.printed(
            "-c",
            "import sys, numba, typed_functions as f\n"
            "assert 'typedcall' not in sys.modules\n"
            "print(numba.njit(lambda x: f.half(x))(3.0))",
            paths=[support.module_folder("typed_functions")]), "1.5")

    HALF = """if True:
        import numba, typed_functions as f
        try:
            print(numba.njit(lambda x: f.half(x))(3.0))
        except numba.TypingError as error:
            print("Unknown attribute 'half'" in str(error))
        """

    def test_the_entry_point_turned_off(self):
        for code, settings, wanted in (
            (self.HALF, {"TYPEDCALL_NUMBA": "0"}, "True"),
            (self.HALF, {"TYPEDCALL_NUMBA": "1"}, "1.5"),
            (self.HALF + "import typedcall.to_numba as t\n        t.unregister(); t.unregister()\n"
             + self.HALF[8:] + "t.register()\n" + self.HALF[8:], {}, "1.5\nTrue\n1.5"),
        ):
            with self.subTest(settings=settings):
                self.assertEqual(support.printed(
                    "-c", code, paths=[support.module_folder("typed_functions")], environment=settings), wanted)


class Source(unittest.TestCase):
    def test_a_callback(self):
        @numba.cfunc("float64(float64, int32, boolean)")
        def callback(x, i, flag):
            return x * i if flag else -x

        (entry,) = typedcall.entries(callback)
        self.assertEqual((entry.signature, entry.place), ("di?->d", "Numba"))
        self.assertEqual(entry.flags, Flags.ACQUIRES_GIL | Flags.THREAD_SAFE)
        function = typedcall.resolve(callback, "di?->d")
        self.assertEqual((function(1.5, 4, True), function(1.5, 4, False)), (6.0, -1.5))

    def test_types(self):
        @numba.cfunc("complex128(uint8, CPointer(float64), voidptr, complex128)")
        def callback(a, b, c, d):
            return d * 1j

        self.assertEqual(typedcall.signatures(callback), ["B&dPZd->Zd"])
        self.assertEqual(typedcall.resolve(callback, "B&dPZd->Zd")(1, None, None, 2 + 1j), -1 + 2j)

        @numba.cfunc("complex64(complex64)")
        def narrow(a):
            return a

        self.assertEqual(typedcall.signatures(narrow), [])  # Numba's ABI differs from C's here

        @numba.cfunc("void(int64)")
        def nothing(a):
            pass

        self.assertEqual(typedcall.signatures(nothing), ["l->v"])

    def test_first_class_functions(self):
        class Function(numba.types.WrapperAddressProtocol):
            def __wrapper_address__(self):
                return typedcall.entries(functions.half)[0].address

            def signature(self):
                return numba.float64(numba.float64)

        self.assertEqual(typedcall.resolve(Function(), "d->d")(3.0), 1.5)

    def test_a_callback_stays_alive(self):
        @numba.cfunc("float64(float64)")
        def callback(x):
            return x + 1

        function = typedcall.resolve(callback, "d->d")
        ufunc = typedcall.ufunc(callback, "one_more")
        del callback
        gc.collect()
        self.assertEqual((function(1.0), ufunc([1.0])[0]), (2.0, 2.0))

    def test_other_objects_of_numba(self):
        self.assertEqual(typedcall.signatures(numba.njit(lambda x: x)), [])
        self.assertEqual(typedcall.signatures(numba.float64), [])
