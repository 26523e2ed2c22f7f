"""Tests Optionals and None as arguments of typed functions in Numba's nopython code. test_matrix_optional.py compares
more calls with Python's."""

import ctypes
import itertools
import unittest

import adapter_support
import numba_cache_support
import support
import typedcall
from buffer_support import module as buffers

numba, numpy = adapter_support.library("numba"), adapter_support.library("numpy")
default_functions = support.build("default_functions")
functions = support.build("typed_functions")

LETTERS = ("?", "b", "l", "L", "f", "d", "Zd")
TYPES = [numpy.dtype(letter).type for letter in "?bBhHiIlLfdFD"]


def recording(signatures):
    """Returns a function with these signatures, and a list of the C functions that are called, with what they get. The
    Python function is in the list as "Python"."""
    seen, made = [], []

    def function(*given):
        seen.append(("Python", *given))
        return -1

    for text in signatures:
        letters = typedcall.parse_signature(text)[0]
        types = [{"?": ctypes.c_bool, "Zd": ctypes.c_double}.get(each) or numpy.ctypeslib.as_ctypes_type(each)
                 for each in letters for _ in range(1 + (each == "Zd"))]
        made.append(ctypes.CFUNCTYPE(ctypes.c_int, *types)(lambda *given, text=text: seen.append((text, *given)) or 0))
    typedcall.tag(function, list(signatures), [ctypes.cast(each, ctypes.c_void_p).value for each in made])
    function.kept = made
    return function, seen


def optional_call(function, count=1):
    """Returns a compiled function of values and of bools that are true for None."""
    names = "abc"[:count]
    lines = [f"def call({', '.join([*names, *(f'no_{each}' for each in names)])}):"]
    lines += [f"    o_{each} = None if no_{each} else {each}" for each in names]
    scope = {"f": function}
    exec("\n".join([*lines, f"    return f({', '.join(f'o_{each}' for each in names)})"]), scope)
    return numba.njit(scope["call"])


def accepts(function, of):
    """True if compiled code may call the function with this type. Only the types are resolved, which saves time."""
    context = numba.core.registry.cpu_target.typing_context
    try:
        return context.resolve_function_type(numba.typeof(function), (of,), {}) is not None
    except numba.TypingError:
        return False


class Choice(unittest.TestCase):
    """Each set of one or two overloads, each type."""

    @classmethod
    def setUpClass(cls):
        numba.njit(lambda x: x)(1)  # Numba loads its extensions

    def called(self, given):
        """Returns two compiled functions, which call all functions that accept this type, and what was called."""
        made = [recording([f"{letters}->i" for letters in each])
                for count in (1, 2) for each in itertools.permutations(LETTERS, count)]
        value = numba.typeof(given)
        accepting = [each for each in made if accepts(each[0], value)]
        for function, _ in made:
            self.assertEqual(accepts(function, numba.types.Optional(value)), accepts(function, value))
        scope = {f"f{at}": function for at, (function, _) in enumerate(accepting)}
        lines = [f"    f{at}(x)" for at in range(len(accepting))]
        exec("\n".join(["def plain(x):", *lines]), scope)
        exec("\n".join(["def optional(a, is_none):", "    x = None if is_none else a", *lines]), scope)
        return numba.njit(scope["plain"]), numba.njit(scope["optional"]), [seen for _, seen in accepting]

    def test_an_optional_calls_what_its_value_calls(self):
        self.assertEqual(len(TYPES), 13)
        for of in TYPES:
            values = [of(1)]
            if of(1).dtype.kind in "iu":
                values += [numpy.iinfo(of).max, numpy.iinfo(of).min]
                values += [2**53 + 1] if of(1).itemsize == 8 else []
            plain, optional, lists = self.called(of(1))
            self.assertGreaterEqual(len(lists), 13)
            for value in map(of, values):
                plain(value)
                wanted = [[*seen] for seen in lists]
                for seen in lists:
                    seen.clear()
                optional(value, False)
                self.assertEqual([[*seen] for seen in lists], wanted, repr(value))
                for seen in lists:
                    seen.clear()
            optional(of(1), True)
            # A bool parameter of a function without overloads accepts None, as its truth value.
            self.assertEqual([seen[0] for seen in lists if seen != [("Python", None)]], [("?->i", False)])

    def test_no_digit_is_lost(self):
        function, seen = recording(["d->i", "l->i"])
        optional_call(function)(2**53 + 1, False)
        self.assertEqual(seen, [("l->i", 2**53 + 1)])

    def test_functions_of_scipy(self):
        special = adapter_support.library("scipy.special.cython_special")
        call = optional_call(special.eval_legendre, 2)
        self.assertEqual(call(3, 0.25, False, False), special.eval_legendre(3, 0.25))
        single = numpy.float32(0.3)
        plain = numba.njit(lambda x: special.expit(x))
        found = optional_call(special.expit)
        self.assertEqual((found(single, False), found.nopython_signatures[0].return_type),
                         (plain(single), plain.nopython_signatures[0].return_type))
        for given in ((3, 0.25, True, False), (3, 0.25, False, True)):
            with self.assertRaises(TypeError):
                call(*given)


class OfNone(unittest.TestCase):
    def test_python_is_called_with_none(self):
        function, seen = recording(["dll->i"])
        call = optional_call(function, 3)
        for absent in itertools.product((False, True), repeat=3):
            call(1.5, 2, 3, *absent)
            given = [None if is_none else value for value, is_none in zip((1.5, 2, 3), absent)]
            self.assertEqual(seen.pop(), ("Python" if any(absent) else "dll->i", *given))

    def test_its_result_and_its_exception(self):
        def half(x):
            if x is None:
                return 7.0
            raise NotImplementedError

        entry, = typedcall.entries(functions.half)
        typedcall.tag(half, entry.signature, entry.address)
        self.assertEqual((optional_call(half)(3.0, False), optional_call(half)(3.0, True)), (1.5, 7.0))
        with self.assertRaisesRegex(TypeError, "NoneType") as boxed:
            functions.half(None)
        with self.assertRaises(TypeError) as compiled:
            optional_call(functions.half)(3.0, True)
        self.assertEqual(str(compiled.exception), str(boxed.exception))

    def test_it_is_caught(self):
        @numba.njit
        def call(x, is_none):
            value = None if is_none else x
            try:
                return functions.half(value)
            except Exception:
                return -1.0

        self.assertEqual((call(3.0, False), call(3.0, True)), (1.5, -1.0))

    def test_names_and_defaults(self):
        distance = default_functions.distance

        @numba.njit
        def call(a, b, is_none):
            value = None if is_none else b
            return distance(a, 2.0, d=value, c=1.0)

        self.assertEqual(call(1.0, 3.0, False), distance(1.0, 2.0, 1.0, 3.0))
        with self.assertRaises(TypeError):
            call(1.0, 3.0, True)

    def test_where_optionals_come_from(self):
        function, seen = recording(["d->i", "l->i"])

        @numba.njit
        def of_dict(table, key):
            return function(table.get(key))

        table = numba.typed.Dict.empty(numba.int64, numba.int64)
        table[1] = 2**53 + 1
        of_dict(table, 1)
        of_dict(table, 2)
        self.assertEqual(seen, [("l->i", 2**53 + 1), ("Python", None)])

        @numba.experimental.jitclass([("value", numba.optional(numba.int64))])
        class Box:
            def __init__(self, value):
                self.value = value

        seen.clear()
        of_box = numba.njit(lambda box: function(box.value))
        of_box(Box(2**53 + 1))
        of_box(Box(None))
        self.assertEqual(seen, [("l->i", 2**53 + 1), ("Python", None)])

    def test_defaults_of_compiled_functions(self):
        function, seen = recording(["d->i", "l->i"])
        flag, flags = recording(["?->i"])

        @numba.njit
        def with_int(x=3):
            return function(x)

        @numba.njit
        def with_none(x=None):
            return flag(x)

        with_int()
        with_int(4)
        with_none()
        with_none(4)
        self.assertEqual((seen, flags), ([("l->i", 3), ("l->i", 4)], [("?->i", False), ("?->i", True)]))
        with self.assertRaisesRegex(numba.TypingError, "none cannot be passed as double"):
            numba.njit(lambda: function(None))()

    def test_as_many_arguments_as_there_may_be(self):
        function, seen = recording(["i" * 126 + "->i"])
        given = ", ".join(["1"] * 125)
        scope = {"f": function}
        exec(f"def one(a, is_none):\n    x = None if is_none else a\n    return f({given}, x)\n"
             f"def two(a, is_none):\n    x = None if is_none else a\n    return f({given[3:]}, x, x)", scope)
        numba.njit(scope["one"])(2, True)
        self.assertEqual(seen, [("Python", *[1] * 125, None)])
        with self.assertRaisesRegex(numba.TypingError, "too many arguments for Optionals"):
            numba.njit(scope["two"])(2, True)

    def test_in_other_threads(self):
        @numba.njit(parallel=True)
        def total(values, limit):
            found = 0.0
            for i in numba.prange(len(values)):
                value = None if values[i] > limit else values[i]
                found += functions.half(value)
            return found

        self.assertEqual(total(numpy.arange(5.0), 10.0), 5.0)
        call = numba.njit(nogil=True)(optional_call(functions.half).py_func)
        self.assertEqual(call(3.0, False), 1.5)
        with self.assertRaises(TypeError):
            call(3.0, True)


class Truth(unittest.TestCase):
    def test_any_value_for_a_bool(self):
        def flag(x):
            raise NotImplementedError

        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_bool)(lambda x: 10 + x)
        typedcall.tag(flag, "?->i", ctypes.cast(made, ctypes.c_void_p).value)
        call = optional_call(flag)
        for value in (True, False, 0, 3, 2.5, 0.0, 1j, "", "text", (1, 2), numpy.float32(0), numba.typed.List([1]),
                      numpy.ones(1)):
            with self.subTest(value=value):
                self.assertEqual((call(value, False), call(value, True)), (10 + bool(value), 10))
        with self.assertRaisesRegex(ValueError, "truth value of an array"):  # as in Python
            call(numpy.zeros(3), False)
        self.assertEqual(numba.njit(lambda: flag(None))(), 10)

    def test_none_itself_when_python_is_called(self):
        function, seen = recording(["?i->i"])
        compiled = numba.njit(lambda x, n: function(x, n))
        compiled(None, 2**40)
        compiled(None, 4)
        optional_call(function, 2)(3, 2**40, True, False)
        optional_call(function, 2)(3, 2**40, False, False)
        self.assertEqual(seen, [("Python", None, 2**40), ("?i->i", False, 4), ("Python", None, 2**40),
                                ("Python", 3, 2**40)])


class Arrays(unittest.TestCase):
    def test_a_buffer(self):
        call = optional_call(buffers.norm)
        self.assertEqual(call(numpy.array([3.0, 4.0]), False), 5.0)
        with self.assertRaises(TypeError) as boxed:
            buffers.norm(None)
        with self.assertRaises(TypeError) as compiled:
            call(numpy.array([3.0, 4.0]), True)
        self.assertEqual(str(compiled.exception), str(boxed.exception))
        for given in (numpy.ones(3, "f4"), numpy.ones(6)[::2]):
            with self.assertRaises(numba.TypingError):
                call(given, False)

    def pointed(self, signature):
        """Returns a function of a pointer that returns the first element, or -1 for NULL."""
        def first(*values):
            raise NotImplementedError

        types = [ctypes.c_void_p, *[ctypes.c_int] * (len(typedcall.parse_signature(signature)[0]) - 1)]
        made = ctypes.CFUNCTYPE(ctypes.c_double, *types)(
            lambda at, *rest: -1.0 if at is None else ctypes.c_double.from_address(at).value)
        typedcall.tag(first, signature, ctypes.cast(made, ctypes.c_void_p).value)
        first.kept = made
        return first

    def test_a_pointer_is_null_for_none(self):
        for signature in ("&kd->d", "&d->d", "P->d"):
            first = self.pointed(signature)

            @numba.njit
            def call(x, is_none):
                pointer = None if is_none else x.ctypes
                return first(pointer)

            with self.subTest(signature):
                self.assertEqual(call(numpy.array([2.5]), False), 2.5)
                self.assertEqual(call(numpy.array([2.5]), True), -1.0)
                self.assertEqual(numba.njit(lambda: first(None))(), -1.0)

    def test_a_default_pointer_is_null(self):
        first = self.pointed("i&d->d")
        typedcall.untag(first)

        def with_default(n, out=None):
            raise NotImplementedError

        made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.c_void_p)(lambda n, at: n if at is None else -n)
        typedcall.tag(with_default, "i&d->d", ctypes.cast(made, ctypes.c_void_p).value)
        self.assertEqual(numba.njit(lambda n: with_default(n))(4), 4.0)
        self.assertEqual(numba.njit(lambda n, x: with_default(n, x.ctypes))(numpy.int32(4), numpy.zeros(1)), -4.0)

    def test_a_pointer_to_bools(self):
        flags = self.pointed("&k?->d")
        self.assertEqual(numba.njit(lambda: flags(None))(), -1.0)
        self.assertEqual(optional_call(flags)(numpy.array([True]), True), -1.0)

    def test_a_number_beside_a_pointer(self):
        first = self.pointed("&di->d")

        @numba.njit
        def call(x, is_none):
            number = None if is_none else numpy.int32(3)
            return first(x.ctypes, number)

        self.assertEqual(call(numpy.array([2.5]), False), 2.5)
        with self.assertRaisesRegex(TypeError, "is None, and compiled code cannot call the Python function"):
            call(numpy.array([2.5]), True)

    def test_none_is_not_taken_for_another_overload(self):
        def either(x):
            raise NotImplementedError

        typedcall.tag(either, ["&d->i", "P->i"], [4096, 4096])

        def call(x, is_none):
            pointer = None if is_none else x.ctypes
            return either(pointer)

        with self.assertRaisesRegex(numba.TypingError, "None for argument 1 may choose another overload"):
            numba.njit(call).compile((numba.float64[::1], numba.boolean))  # does not call the address


class Cached(numba_cache_support.Cache):
    def test_in_the_next_process(self):
        self.write("kernels.py", """
import numba, shapes

@numba.njit(cache=True)
def half(x, is_none):
    number = None if is_none else x  # in the call itself, CPython 3.13 would compile two calls
    return shapes.half(number)

@numba.njit(cache=True)
def add(x, is_none):
    number = None if is_none else x
    return shapes.add(b=number, a=x)

def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__
""")
        lines = ("from kernels import *\n"
                 "print_all([outcome(half, 3.0, False), outcome(half, 3.0, True), outcome(add, 4, False), outcome(add, 4, True)])")
        for misses in (2, 0):
            ran = self.run_program(lines)
            self.assertEqual((ran["results"], ran["misses"]), ([1.5, "TypeError", 8, "TypeError"], misses))
