"""Compares the extension module's table of ranks with matrix_choice.py, which implements docs/ABI.md, 8.7."""
import array
import contextlib
import functools
import itertools
import math
import pathlib
import random
import unittest

import matrix_choice
import support
from typedcall.native import _native
from typedcall.record import codes
from typedcall.record.choice import Kind, Overloads, rank_of_kind, steps_of_kinds

#: Values of each kind, as Python code. Python has no values of the kinds C_FLOAT, C_COMPLEX and DEFAULT.
VALUES = {
    "BOOL": ("True", "False"),
    "INT": ("0", "-7", "2**70", "made(object, '__index__')()", "made(object, '__index__', '__float__', '__complex__')()"),
    "INT_SUBCLASS": ("made(int)(7)", "made(int, '__float__')(7)"),
    "ARRAY": ("made(object, '__index__', '__len__')()", "made(bytes, '__index__')()"),
    "FLOAT": ("0.5", "float('inf')"),
    "FLOAT_SUBCLASS": ("made(float)(0.5)", "made(float, '__index__')(0.5)"),
    "HAS_FLOAT": ("made(object, '__float__')()", "made(object, '__float__', '__complex__')()", "made(bytes, '__float__')()"),
    "COMPLEX": ("1j", "1 + 0j"),
    "COMPLEX_SUBCLASS": ("made(complex)(1j)", "made(complex, '__float__', '__index__')(1j)"),
    "HAS_COMPLEX": ("made(object, '__complex__')()",),
    "STR": ("''", "'7'"),
    "STR_SUBCLASS": ("made(str)('7')", "made(str, '__index__', '__float__')('7')"),
    "OTHER": ("None", "b'7'", "[]", "made(object, '__int__', '__bool__')()"),
}
NUMPY = {
    "BOOL": ("numpy.bool_(True)",),
    "INT": ("numpy.int8(5)", "numpy.uint64(2**63)", "numpy.intp(0)"),
    "ARRAY": ("numpy.zeros(3)", "numpy.array(7)", "numpy.array(7.5)", "numpy.ma.array(7.5)",
              "numpy.array(7).view(made(numpy.ndarray, '__buffer__', '__release_buffer__'))"),
    "FLOAT_SUBCLASS": ("numpy.float64(0.5)",),
    "HAS_FLOAT": ("numpy.float32(0.5)", "numpy.float16(0.5)", "numpy.longdouble(0.5)"),
    "COMPLEX_SUBCLASS": ("numpy.complex128(1j)",),
    "HAS_COMPLEX": ("numpy.complex64(1j)", "numpy.clongdouble(1j)", "numpy.complex64(2)", "made(numpy.complex64)(1j)",
                    "numpy.ma.array(1j)", "numpy.array(1j).view(made(numpy.ndarray))", "numpy.array([[1j]]).view(numpy.matrix)",
                    "numpy.array(1j).view(made(numpy.ndarray, '__buffer__', '__release_buffer__'))",
                    "numpy.array(1j).view(made((made(object), made(numpy.ndarray))))",
                    "numpy.array(1j)", "numpy.array(1j, '>c16')", "numpy.array(1j, 'F')", "numpy.array([1j])"),
    "STR_SUBCLASS": ("numpy.str_('7')",),
    # numpy.bytes_ has the name `__float__`, but CPython's functions do not find it.
    "OTHER": ("numpy.dtype('d')", "numpy.int64", "numpy.bytes_(b'7')"),
}
#: Maps the ranks of matrix_choice.py to the table's.
RANKS = {matrix_choice.EXACT: 1, matrix_choice.NEAR: 2, matrix_choice.SAFE: 3, matrix_choice.NONE: None}
LETTERS = [*codes.CODES, "*s", "*kd", "*d", "&d", "&kd", "&?", "&O", "&s"]


#: The rows and columns of the table in docs/reference/overloads.md.
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "overloads.md"
ROWS = ("BOOL", "INT", "INT_SUBCLASS", "ARRAY", "FLOAT", "FLOAT_SUBCLASS", "HAS_FLOAT", "COMPLEX", "COMPLEX_SUBCLASS",
        "HAS_COMPLEX", "STR", "STR_SUBCLASS", "OTHER")
COLUMNS = ("?", "bBhHiIlLqQnN", "dg", "f", ("Zd", "Zg"), ("Zf",), ("s", "*s"), "O")
WORDS = {"exact": 1, "near": 2, "safe": 3, "-": None}

GIVEN = {"__float__": 7.0, "__complex__": 7j, "__bool__": True}


def made(base, *methods):
    """Returns a subclass of `base`, or of several bases, with these methods."""
    return type("Made", base if isinstance(base, tuple) else (base,), {name: lambda self, given=GIVEN.get(name, 7): given for name in methods})


class Table(unittest.TestCase):
    def check(self, values, **names):
        for kind, expressions in values.items():
            for expression in expressions:
                value = eval(expression, {"made": made, **names})
                for letters in LETTERS:
                    with self.subTest(kind=kind, value=expression, letters=letters):
                        self.assertEqual(_native.rank(kind, letters), RANKS[matrix_choice.rank(value, letters)])

    def test_of_python(self):
        self.assertEqual(set(_native.KINDS) - set(VALUES), {"DEFAULT", "C_FLOAT", "C_COMPLEX"})
        self.check(VALUES)

    @support.ON_CPYTHON
    def test_of_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        self.check(NUMPY, numpy=numpy)

    def test_the_page_has_it(self):
        text = PAGE.read_text(encoding="utf-8")
        rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
        self.assertEqual(len(rows), len(ROWS))
        for kind, (_, *words) in zip(ROWS, rows):
            for column, word in zip(COLUMNS, words):
                for letters in column:
                    self.assertEqual(_native.rank(kind, letters), WORDS[word.strip(" |")], (kind, letters))

    def test_of_libraries(self):
        for kind, own, python_kind in (("C_FLOAT", "f", "FLOAT"), ("C_COMPLEX", "Zf", "COMPLEX")):
            self.assertEqual(_native.rank(kind, own), 0)
            for letters in LETTERS:
                if letters != own:
                    self.assertEqual(_native.rank(kind, letters), _native.rank(python_kind, letters), (kind, letters))

    def test_what_is_left_out_suits_all(self):
        self.assertEqual({_native.rank("DEFAULT", letters) for letters in LETTERS}, {1})

    def test_no_kind_and_no_type(self):
        for kind, letters in (("bool", "d"), ("", "d"), ("INT", ""), ("INT", "dd"), ("INT", "x"), ("INT", "&&d")):
            with self.assertRaises(ValueError):
                _native.rank(kind, letters)


class Order(unittest.TestCase):
    def test_it_is_that_of_the_reference(self):
        drawn = random.Random(support.seeds.seed(28))
        ranks = [matrix_choice.EXACT, matrix_choice.NEAR, matrix_choice.SAFE, matrix_choice.NONE]
        for _ in range(3000):
            count = drawn.randrange(1, 4)
            rows = [[drawn.choice(ranks) for _ in range(count)] for _ in range(drawn.randrange(6))]
            columns = tuple(bytes([255 if row[i] == matrix_choice.NONE else row[i] for row in rows]) for i in range(count))
            wanted = [*matrix_choice.in_order(rows, rows)]
            for most in (len(rows) + 1, drawn.randrange(1, len(rows) + 2)):
                self.assertEqual(self.order(columns, len(rows), most), wanted[:most], rows)

    @staticmethod
    def order(columns, rows, most):
        """Returns the order for ints that may not fit."""
        number = [letters for letters, *_ in _native.TYPE_CODES].index("b")
        codes, ranges = bytes([number]) * (rows * len(columns)), [(-2**70, 2**70)] * len(columns)
        return [at for at, *_ in _native.plan(codes, columns, ranges, rows, most)[0]]

    def test_overloads_that_do_not_accept_an_argument(self):
        self.assertEqual(self.order((b"\1\xff\0\4", b"\1\0\1\0"), 4, 4), [2, 0])

    def test_no_overload_has_so_many_parameters(self):
        self.assertEqual(steps_of_kinds([["d", "d"]], [Kind("FLOAT")], is_alone=True), [])
        self.assertEqual(steps_of_kinds([], [], is_alone=False), [])

    def test_columns_that_are_none(self):
        for parameters, columns, ranges, rows, error in (
                (b"\1", [b"\1"], [(0, 1)], 1, TypeError), (b"\1", (b"\1",), [(0, 1)], 2, ValueError),
                (b"\1", ("\1",), [(0, 1)], 1, TypeError), (b"\1", (b"\1",), [], 1, IndexError),
                (b"\1", (b"\1",), [0], 1, TypeError), (b"\1", (b"\1",), [(0, 1.5)], 1, TypeError),
                (b"\1", (b"\1",), [(0, 1, 2)], 1, TypeError), (b"\xff", (b"\1",), [(0, 1)], 1, ValueError),
                (b"", (b"\1",), [(0, 1)], 1, ValueError), ("\1", (b"\1",), [(0, 1)], 1, TypeError)):
            with self.subTest(columns), self.assertRaises(error):
                _native.plan(parameters, columns, ranges, rows, rows)

    def test_results_that_are_none(self):
        self.assertRaises(ValueError, _native.common_result, b"\xff")
        self.assertRaises(TypeError, _native.common_result, "d")
        self.assertIsNone(codes.common_result(["i", "d"]))
        self.assertEqual([codes.common_result(each) for each in (["b", "B"], ["l", "L"], ["f", "d"], [])], ["h", "l", "d", "v"])


class Plans(unittest.TestCase):
    #: The ends of ranges, and the ranges between them.
    ENDS = (-2**70, -2**63, -2**31, -129, -1, 0, 127, 200, 300, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**70)

    def test_an_overload_that_is_skipped_marks_no_int(self):
        # 300 does not fit `b`, so it becomes no float. So the second overload is not tried, and that 1000 does not fit its
        # `b` does not matter.
        kinds = [Kind("INT", (300, 300)), Kind("INT", (1000, 1000))]
        self.assertEqual(steps_of_kinds([["b", "l"], ["d", "b"], ["l", "d"]], kinds, is_alone=False),
                         [(0, [False, True]), (2, [True, True])])

    def test_they_are_the_choice_for_each_value(self):
        drawn = random.Random(support.seeds.seed(54))
        chosen = unused = 0
        for _ in range(600):
            count = drawn.randrange(1, 4)
            overloads = [[drawn.choice("bBiLld") for _ in range(count)] for _ in range(drawn.randrange(2, 5))]
            ranges = [tuple(sorted(drawn.choices(self.ENDS, k=2))) for _ in range(count)]
            kinds = [Kind("INT", each) for each in ranges]
            many = Overloads(overloads, functools.partial(rank_of_kind, False))
            made = many.steps(kinds, ranges)
            possible = {step.overload: step.fits for step in made if False not in step.fits}
            self.assertLessEqual({step.overload for step in made.reachable}, {*possible})
            first = many.steps(kinds, ranges, 1)
            left = {step.overload for step in made.reachable}
            for values in itertools.product(*([each for each in self.ENDS if low <= each <= high] for low, high in ranges)):
                try:
                    wanted = matrix_choice.choose(overloads, values)
                except matrix_choice.NoOverload:
                    self.assertFalse([step for step in made if all(step.fits)], (overloads, ranges, values))
                    continue
                chosen += 1
                left.discard(wanted)
                self.assertIn(wanted, [step.overload for step in made.reachable], (overloads, ranges, values))
                self.assertIn(wanted, [*(step.overload for step in first), *first.later])
                if all(possible[wanted]):
                    self.assertIs(made[-1].fits, possible[wanted])
            unused += len(left)
        self.assertGreater(chosen, 5000)
        self.assertLess(unused, 20)  # a step that no value takes only makes a sink refuse more


class Wrappers(unittest.TestCase):
    def check(self, values, **names):
        narrow, functions = support.build("narrow_functions"), support.build("overload_functions")
        for function, letters in ((narrow.int_or_float, "id"), (narrow.float_or_int, "di"), (narrow.char_or_long, "bl"),
                                  (narrow.three, "Lbd"), (narrow.two_floats, "fd"), (functions.kind, (["d"], ["Zd"], ["O"])),
                                  (functions.real_or_complex, (["d"], ["Zd"]))):
            for expression in (each for expressions in values.values() for each in expressions):
                value = eval(expression, {"made": made, **names})
                with self.subTest(function.__name__, value=expression):
                    try:
                        expected = matrix_choice.choose(letters, (value,))
                    except matrix_choice.NoOverload as error:
                        self.assertRaises(error.kind, function, value)
                    else:
                        self.assertEqual(function(value), expected)

    def test_they_choose_by_these_ranks(self):
        self.check(VALUES)

    @support.ON_CPYTHON
    def test_they_choose_by_these_ranks_for_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        # NumPy has no float for arrays of several elements, and no int for floats.
        others = ("numpy.zeros(3)", "numpy.array([1j])", "numpy.array([[1j]]).view(numpy.matrix)", "numpy.array(7.5)",
                  "numpy.ma.array(7.5)")
        self.check({kind: [each for each in expressions if each not in others] for kind, expressions in NUMPY.items()},
                   numpy=numpy)

    @support.ON_CPYTHON
    def test_a_complex_value_is_never_a_real_one(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        narrow, functions = support.build("narrow_functions"), support.build("overload_functions")
        for value in map(eval, NUMPY["HAS_COMPLEX"] + NUMPY["COMPLEX_SUBCLASS"], itertools.repeat({"made": made, "numpy": numpy})):
            for function in (narrow.int_or_float, narrow.float_or_int, narrow.two_floats):
                self.assertRaises(TypeError, function, value)
            if getattr(value, "ndim", 0) == 0:
                self.assertEqual(functions.real_or_complex(value), 1)
        for function in (math.sqrt, functions.d):
            self.assertRaises(TypeError, function, numpy.bytes_(b"7"))
        # A single entry converts as CPython does.
        with self.assertWarns(numpy.exceptions.ComplexWarning if hasattr(numpy, "exceptions") else numpy.ComplexWarning):
            self.assertEqual(functions.d(numpy.complex64(2 + 1j)), math.sqrt(numpy.complex64(4)) + functions.d(0.0))

    def test_methods_that_a_class_gets_and_loses(self):
        functions = support.build("narrow_functions")
        for base, either in ((object, [0, 1]), (bytes, [0, 0])):  # an object with a length fits both
            class Number(base):
                pass

            def choices():
                for function in (functions.int_or_float, functions.float_or_int):
                    with contextlib.suppress(TypeError):
                        yield function(Number())

            self.assertEqual([*choices()], [], base)
            Number.__float__ = lambda self: 7.0
            self.assertEqual([*choices()], [1, 0], base)
            Number.__index__ = lambda self: 7
            self.assertEqual([*choices()], either, base)
            del Number.__float__
            self.assertEqual([*choices()], either, base)
            del Number.__index__
            self.assertEqual([*choices()], [], base)

    def test_a_float_that_an_int_gets(self):
        def too_large(self):
            raise OverflowError("my own")

        class Number(int):
            pass

        two_floats = support.build("narrow_functions").two_floats
        self.assertEqual(two_floats(Number(7)), 0)
        Number.__float__ = too_large
        self.assertRaisesRegex(OverflowError, "my own", two_floats, Number(7))


class Rules(unittest.TestCase):
    """The parts of docs/ABI.md, 8.7 to 8.10, that ranks do not show."""

    @classmethod
    def setUpClass(cls):
        cls.functions = support.build("overload_functions")

    def test_the_range_of_a_floating_type_is_that_of_a_double(self):
        large = 10**400
        self.assertEqual(self.functions.kind(large), 2)  # an object, after `d`, and never `Zd`
        self.assertRaises(OverflowError, self.functions.real_or_complex, large)
        self.assertRaises(OverflowError, self.functions.d, large)
        self.assertRaises(OverflowError, math.sqrt, large)
        self.assertEqual(self.functions.kind(2**1000), 0)

    def test_the_content_decides_before_the_range(self):
        function = self.functions.text_or_objects
        self.assertEqual([function(1, "x"), function(2**70, "x"), function(1, 2)], [0, 1, 1])
        for text, error in (("\ud800", UnicodeEncodeError), ("a\0b", ValueError)):
            for number in (1, 2**70):
                self.assertRaises(error, function, number, text)

    def test_an_overload_that_would_lose_digits_does_not_look_at_contents(self):
        function = self.functions.object_or_text
        self.assertEqual([function(1, "\ud800"), function(1.5, "x")], [0, 1])
        self.assertRaises(OverflowError, function, 2**70, "\ud800")
        self.assertRaises(OverflowError, function, 2**70, "x")
        self.assertRaises(UnicodeEncodeError, function, 1.5, "\ud800")

    def test_a_method_that_raises_ends_the_search(self):
        class Number:
            def __float__(self):
                raise OverflowError("my own")

            __index__ = __float__

        for function in (self.functions.kind, self.functions.real_or_long, self.functions.real_or_complex):
            self.assertRaisesRegex(OverflowError, "my own", function, Number())

    def test_a_buffer_is_refused_by_its_type(self):
        functions = self.functions
        doubles = memoryview(array.array("d", [1, 2, 3, 4]))
        self.assertEqual([functions.buffer(doubles), functions.buffer_or_long(doubles), functions.filled_or_long(doubles)], [0, 0, 0])
        for view in (doubles[::2], memoryview(array.array("f", [1, 2]))):
            self.assertRaises(TypeError, functions.buffer_or_long, view)
            self.assertRaises(TypeError, functions.filled_or_long, view)
        self.assertRaises(TypeError, functions.filled_or_long, doubles.toreadonly())
        # A single overload raises the reason.
        self.assertRaises(BufferError, functions.buffer, doubles[::2])
        self.assertRaises(BufferError, functions.filled, doubles.toreadonly())

    def test_one_overload_converts_as_cpython_does(self):
        class Both:
            """An object that is complex and real."""

            def __float__(self):
                return 4.0

            def __complex__(self):
                return 4 + 1j

        for value in (Both(), True, 4, 4.0):
            self.assertEqual(self.functions.d(value), float(value) + self.functions.d(0))
        for value in (1j, "4", None):
            self.assertRaises(TypeError, self.functions.d, value)
            self.assertRaises(TypeError, math.sqrt, value)
        self.assertEqual([getattr(self.functions, "?")(value) for value in ("", "x", None, 1j)],
                         [getattr(self.functions, "?")(bool(value)) for value in ("", "x", None, 1j)])
        self.assertEqual(self.functions.real_or_complex(Both()), 0)  # it has `__float__`
