# Keyword-only parameters: every call compared with the same function in Python, words included, and
# what inspect sees.
import inspect
import itertools
import pydoc
import unittest

import leaks
import provider_keyword_only as m


def last(a, b, *, c=9):
    return 100 * a + 10 * b + c


def all_three(*, a, b, c):
    return 100 * a + 10 * b + c


def every_kind(a, /, b, *, c):
    return 100 * a + 10 * b + c


def defaults(a=7, *, b=8, c=9):
    return 100 * a + 10 * b + c


def behind(a=7, *, b, c=9):
    return 100 * a + 10 * b + c


def mixed(a, *, b=8, c):
    return 100 * a + 10 * b + c


def required(a, *, b, c):
    return 100 * a + 10 * b + c


def one(*, x):
    return x


TWINS = (last, all_three, every_kind, defaults, behind, mixed, required, one)


def outcome(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        # 3.13 guesses what was meant.
        return str(error).partition(". Did you mean")[0]


class LikePython(unittest.TestCase):
    maxDiff = None

    def test_every_call(self):
        names = ("a", "b", "c", "x")
        some = [dict(zip(chosen, (4, 5, 6, 7))) for count in range(5)
                for chosen in itertools.permutations(names, count)]
        for python in TWINS:
            results, refusals = 0, set()
            for count in range(6):
                for kwargs in some:
                    args = (1, 2, 3, 4, 5)[:count]
                    wanted = outcome(python, args, kwargs)
                    self.assertEqual(outcome(getattr(m, python.__name__), args, kwargs), wanted,
                                     (python, args, kwargs))
                    results += isinstance(wanted, int)
                    if isinstance(wanted, str):
                        refusals.add(wanted)
            self.assertGreater(results, 0)
            self.assertGreater(len(refusals), 4)

    def test_words(self):
        for call, words in (
                (lambda: m.last(1, 2, 3), "last() takes 2 positional arguments but 3 were given"),
                (lambda: m.last(1, 2, 3, c=4), "last() takes 2 positional arguments but 3 positional "
                                               "arguments (and 1 keyword-only argument) were given"),
                (lambda: m.one(1), "one() takes 0 positional arguments but 1 was given"),
                (lambda: m.one(1, x=1), "one() takes 0 positional arguments but 1 positional argument "
                                        "(and 1 keyword-only argument) were given"),
                (lambda: m.defaults(1, 2), "defaults() takes from 0 to 1 positional arguments but 2 were "
                                           "given"),
                (lambda: m.one_by_position(1, 2), "one_by_position() takes from 0 to 1 positional "
                                                  "arguments but 2 were given"),
                (lambda: m.one(), "one() missing 1 required keyword-only argument: 'x'"),
                (lambda: m.all_three(), "all_three() missing 3 required keyword-only arguments: 'a', 'b', "
                                        "and 'c'"),
                (lambda: m.mixed(1), "mixed() missing 1 required keyword-only argument: 'c'"),
                (lambda: m.required(b=1), "required() missing 1 required positional argument: 'a'"),
                (lambda: m.one(y=1), "one() got an unexpected keyword argument 'y'")):
            self.assertEqual(outcome(call, (), {}), words)

    def test_which_argument(self):
        for call, error, words in (
                (lambda: m.last(1, 2, c="x"), TypeError, "last() argument 'c': 'str' object "),
                (lambda: m.last(1, "x", c=1), TypeError, "last() argument 'b': 'str' object "),
                (lambda: m.one(x=2 ** 70), OverflowError, "one() argument 'x': Python int does not ")):
            with self.assertRaises(error) as caught:
                call()
            self.assertTrue(str(caught.exception).startswith(words), caught.exception)


class Functions(unittest.TestCase):
    def test_two_defs_of_one_function(self):
        self.assertEqual((m.one(x=1), m.one_again(x=2), m.one_by_position(number=4)), (1, 2, 4))
        self.assertEqual((m.one_by_position(), m.one_by_position(5)), (3, 5))

    def test_names_that_are_not_interned(self):
        self.assertEqual(m.offset(1, **{"".join(["b", "y"]): 2}), 3.0)
        self.assertEqual((m.unicode(1), m.unicode(1, **{"\u00e9": 2})), (1.5, 3.0))
        with self.assertRaisesRegex(TypeError, "takes 1 positional argument but 2 were given"):
            m.unicode(1, 2)

    def test_overloads(self):
        for args, kwargs, wanted in (((3,), {}, 6), ((3.0,), {}, 6.0), ((3,), {"height": 4}, 12),
                                     ((3,), {"height": 0.5}, 1.5), ((), {"height": 4, "width": 1}, 4)):
            found = m.area(*args, **kwargs)
            self.assertEqual((found, type(found)), (wanted, type(wanted)), (args, kwargs))
        for call, words in (
                (lambda: m.area(1, 2), "area() takes 1 positional argument but 2 were given"),
                (lambda: m.area(1, height="x"), "no overload for (int, str)"),
                (lambda: m.area("x"), "no overload for (str, default)")):
            self.assertIn(words, outcome(call, (), {}))

    def test_buffers(self):
        values = memoryview(bytearray(16)).cast("d")
        values[1] = 2.5
        self.assertEqual((m.sum(values), m.sum(values, start=1), m.sum(start=2.0, values=values)),
                         (2.5, 3.5, 4.5))
        with self.assertRaisesRegex(TypeError, r"sum\(\) takes 1 positional argument but 2 were given"):
            m.sum(values, 1.0)

    def test_other_effects(self):
        self.assertEqual((m.root(4.0), m.root(-1, least=-2)), (4.0, -1.0))
        with self.assertRaisesRegex(ValueError, "too small"):
            m.root(4, least=5)
        self.assertEqual((m.narrow(1.5), m.narrow(1.5, by=4)), (3.0, 6.0))
        self.assertEqual((m.object_or_none(), m.object_or_none(object=3)), (None, 3))


class Documentation(unittest.TestCase):
    def test_signatures(self):
        for python in TWINS:
            self.assertEqual(inspect.signature(getattr(m, python.__name__)), inspect.signature(python))
        for name, wanted in (("offset", "(x, *, by=0.5)"), ("area", "(width, *, height=2)"),
                             ("sum", "(values, *, start=0.0)"), ("one_again", "(*, x)"),
                             ("object_or_none", "(*, object=None)")):
            self.assertEqual(str(inspect.signature(getattr(m, name))), wanted)
        self.assertEqual(m.every_kind.__text_signature__, "($module, a, /, b, *, c)")
        self.assertIsNone(m.unicode.__text_signature__)

    def test_help(self):
        self.assertEqual(m.one.__doc__, "Documented.")
        self.assertIn("one(*, x)\n    Documented.", pydoc.plain(pydoc.render_doc(m.one)))


class Leaks(unittest.TestCase):
    def test_references(self):
        value, name, wrong = 2 ** 40, "".join(["c", ""]), "".join(["w", "rong"])

        def use():
            m.last(value, value, c=value), m.object_or_none(object=value)
            for call in (lambda: m.last(value, value, value), lambda: m.last(value, value, value, c=value),
                         lambda: m.required(value, **{name: value}), lambda: m.one(**{wrong: value}),
                         lambda: m.last(value, value, c="x")):
                self.assertRaises(TypeError, call)

        leaks.check(use, 200, warm_up=1, unchanged=(value, name, wrong))
