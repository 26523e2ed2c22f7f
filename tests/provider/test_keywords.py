# Compares functions whose parameters have names and defaults with the same functions in Python.
import asyncio
import inspect
import itertools
import math
import pydoc
import unittest

import leaks
import provider_keywords as m


class Text(str):
    pass


def named(a, b, c):
    return 100 * a + 10 * b + c


def defaults(a, b=8, c=9):
    return 100 * a + 10 * b + c


def mixed(a, /, bee, c=9):
    return 100 * a + 10 * bee + c


def optional(a=7, b=8, c=9):
    return 100 * a + 10 * b + c


def twice(x):
    return 2 * x


def last(a, b, *, c=9):
    return 100 * a + 10 * b + c


def all_three(*, a, b, c):
    return 100 * a + 10 * b + c


def every_kind(a, /, b, *, c):
    return 100 * a + 10 * b + c


def named_defaults(a=7, *, b=8, c=9):
    return 100 * a + 10 * b + c


def behind(a=7, *, b, c=9):
    return 100 * a + 10 * b + c


def between(a, *, b=8, c):
    return 100 * a + 10 * b + c


def required(a, *, b, c):
    return 100 * a + 10 * b + c


def one(*, x):
    return x


TWINS = (named, defaults, mixed, optional, twice, last, all_three, every_kind, named_defaults, behind, between,
         required, one)
NAMES = [dict(zip(chosen, (4, 5, 6, 7))) for count in range(5)
         for chosen in itertools.permutations(("a", "b", "c", "x"), count)]
NAMES += [{"bee": 5}, {"bee": 5, "c": 3}, {"": 1}, {"aa": 1}, {"A": 1}, {"\u00e9": 1}]


def outcome(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        # From 3.13 on, the message may end with a suggestion.
        return str(error).partition(". Did you mean")[0]


class LikePython(unittest.TestCase):
    maxDiff = None

    def test_every_call(self):
        for python in TWINS:
            results, refusals = 0, set()
            for args, kwargs in itertools.product(((1, 2, 3, 4, 5)[:count] for count in range(6)), NAMES):
                wanted = outcome(python, args, kwargs)
                self.assertEqual(outcome(getattr(m, python.__name__), args, kwargs), wanted, (python, args, kwargs))
                results += isinstance(wanted, int)
                if isinstance(wanted, str):
                    refusals.add(wanted)
            self.assertGreater(results, 0)
            self.assertGreater(len(refusals), 4)

    def test_words(self):
        for call, words in (
                (lambda: m.named(), "named() missing 3 required positional arguments: 'a', 'b', and "
                                    "'c'"),
                (lambda: m.named(b=1), "named() missing 2 required positional arguments: 'a' and 'c'"),
                (lambda: m.named(1, 2), "named() missing 1 required positional argument: 'c'"),
                (lambda: m.named(1, 2, 3, 4), "named() takes 3 positional arguments but 4 were given"),
                (lambda: m.half(1, 2), "half() takes 1 positional argument but 2 were given"),
                (lambda: m.half(), "half() missing 1 required positional argument: 'x'"),
                (lambda: m.defaults(1, 2, 3, 4), "defaults() takes from 1 to 3 positional arguments "
                                                 "but 4 were given"),
                (lambda: m.named(1, 2, 3, x=4), "named() got an unexpected keyword argument 'x'"),
                (lambda: m.named(1, 2, c=3, a=4), "named() got multiple values for argument 'a'"),
                (lambda: m.mixed(1, 2, a=4), "mixed() got some positional-only arguments passed as "
                                             "keyword arguments: 'a'"),
                (lambda: m.optional(1, 2, 3, 4, b=1), "multiple values for argument 'b'"),
                (lambda: m.optional(1, 2, 3, 4, 5, 6), "from 0 to 3 positional arguments but 6 ")):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(words, str(caught.exception))

    def test_words_of_keyword_only_ones(self):
        for call, words in (
                (lambda: m.last(1, 2, 3), "last() takes 2 positional arguments but 3 were given"),
                (lambda: m.last(1, 2, 3, c=4), "last() takes 2 positional arguments but 3 positional "
                                               "arguments (and 1 keyword-only argument) were given"),
                (lambda: m.one(1), "one() takes 0 positional arguments but 1 was given"),
                (lambda: m.one(1, x=1), "one() takes 0 positional arguments but 1 positional argument "
                                        "(and 1 keyword-only argument) were given"),
                (lambda: m.named_defaults(1, 2), "named_defaults() takes from 0 to 1 positional arguments but 2 "
                                                 "were given"),
                (lambda: m.one_by_position(1, 2), "one_by_position() takes from 0 to 1 positional "
                                                  "arguments but 2 were given"),
                (lambda: m.one(), "one() missing 1 required keyword-only argument: 'x'"),
                (lambda: m.all_three(), "all_three() missing 3 required keyword-only arguments: 'a', 'b', "
                                        "and 'c'"),
                (lambda: m.between(1), "between() missing 1 required keyword-only argument: 'c'"),
                (lambda: m.required(b=1), "required() missing 1 required positional argument: 'a'"),
                (lambda: m.one(y=1), "one() got an unexpected keyword argument 'y'")):
            self.assertEqual(outcome(call, (), {}), words)


class Keywords(unittest.TestCase):
    def test_names_that_are_not_interned(self):
        for name in ("".join(["be", "e"]), Text("bee")):
            self.assertEqual(m.mixed(1, **{name: 2}), 129)
        self.assertEqual(m.unicode(**{"\u00e9t\u00e9": 3}), 3)
        self.assertEqual(m.unicode(4), 4)
        for name in ("\u00e9t", "\u00e9t\u00e9s", "ete", "\udc80"):
            with self.assertRaisesRegex(TypeError, "unexpected keyword"):
                m.unicode(1, **{name: 3})

    def test_conversions(self):
        for call in (lambda: m.named(1, 2, "x"), lambda: m.named(1, b="x", c=1),
                     lambda: m.optional(c=1.5)):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(OverflowError):
            m.optional(b=2 ** 70)
        with self.assertRaisesRegex(ValueError, "nan"):
            m.half(x=math.nan)
        self.assertEqual(m.half(x=-2), -1.0)

    def test_which_argument(self):
        for call, error, words in (
                (lambda: m.named(1, 2, "x"), TypeError,
                 "named() argument 'c': 'str' object cannot be interpreted as an integer"),
                (lambda: m.named(1, b="x", c=1), TypeError, "named() argument 'b': 'str' object "),
                (lambda: m.named("x", "y", "z"), TypeError, "named() argument 'a': "),
                (lambda: m.optional(c=1.5), TypeError, "optional() argument 'c': 'float' object "),
                (lambda: m.optional(b=2 ** 70), OverflowError,
                 "optional() argument 'b': Python int does not fit "),
                (lambda: m.positional(1, 2, []), TypeError, "positional() argument 'c': "),
                (lambda: m.half("x"), TypeError, "half() argument 'x': "),
                (lambda: m.unicode("x"), TypeError, "unicode() argument '\u00e9t\u00e9': "),
                (lambda: m.all_defaults(text=3), TypeError,
                 "all_defaults() argument 'text': a str is needed, not 'int'"),
                (lambda: m.all_defaults(text="a\0"), ValueError,
                 "all_defaults() argument 'text': embedded null character"),
                (lambda: m.last(1, 2, c="x"), TypeError, "last() argument 'c': 'str' object "),
                (lambda: m.last(1, "x", c=1), TypeError, "last() argument 'b': 'str' object "),
                (lambda: m.one(x=2 ** 70), OverflowError, "one() argument 'x': Python int does not ")):
            with self.assertRaises(error) as caught:
                call()
            self.assertTrue(str(caught.exception).startswith(words), caught.exception)
            self.assertIs(type(caught.exception), error)
            self.assertIsNone(caught.exception.__cause__)

    def test_what_an_arguments_own_code_raises(self):
        class Raising:
            def __init__(self, error):
                self.error = error

            def __index__(self):
                raise self.error

        for error in (TypeError("own"), OverflowError("own"), ValueError("own", 2), KeyError("own"),
                      KeyboardInterrupt("own"), MemoryError("own")):
            for call in (lambda: m.named(1, 2, Raising(error)), lambda: m.named(1, 2, c=Raising(error)),
                         lambda: m.optional(b=Raising(error))):
                with self.assertRaises(type(error)) as caught:
                    call()
                self.assertIs(caught.exception, error)
        with self.assertRaises(UnicodeEncodeError):
            m.all_defaults(text="\udc80")

    def test_positional_only(self):
        self.assertEqual((m.positional(1), m.positional(1, 2), m.positional(1, 2, 3)),
                         (189, 129, 123))
        self.assertEqual((m.twice_positional(4), m.twice_default(), m.twice_default(4)), (8, 42, 8))
        self.assertEqual(m.twice_default_again(), 42)
        for call in (lambda: m.positional(a=1), lambda: m.positional(1, b=2),
                     lambda: m.twice_positional(x=1), lambda: m.twice_default(x=1),
                     lambda: m.unnamed(1, 2, arg2=3)):
            with self.assertRaisesRegex(TypeError, "takes no keyword arguments"):
                call()
        for args in ((), (1, 2, 3, 4)):
            with self.assertRaises(TypeError):
                m.positional(*args)
        with self.assertRaises(TypeError):
            m.twice_default(1, 2)

    def test_defaults_of_every_type(self):
        self.assertIs(m.all_defaults(), True)
        for name, value in (("flag", False), ("narrow", 1), ("wide", 0), ("single", 1), ("real", 0.0),
                            ("extended", 1.0), ("z", 1), ("w", 1j), ("text", ""), ("object", 1),
                            ("items", memoryview(bytearray(8)).cast("d")),
                            ("memory", bytearray(1))):
            self.assertIs(m.all_defaults(**{name: value}), False, name)
        self.assertTrue(math.isnan(m.not_a_number()))
        self.assertEqual(m.large(), 1e300)
        self.assertIsNone(m.object_or_none())
        self.assertEqual(m.object_or_none(object=3), 3)


class KeywordOnly(unittest.TestCase):
    def test_two_defs_of_one_function(self):
        self.assertEqual((m.one(x=1), m.one_again(x=2), m.one_by_position(number=4)), (1, 2, 4))
        self.assertEqual((m.one_by_position(), m.one_by_position(5)), (3, 5))

    def test_names_that_are_not_interned(self):
        self.assertEqual(m.offset(1, **{"".join(["b", "y"]): 2}), 3.0)
        self.assertEqual((m.unicode_offset(1), m.unicode_offset(1, **{"\u00e9": 2})), (1.5, 3.0))
        with self.assertRaisesRegex(TypeError, "takes 1 positional argument but 2 were given"):
            m.unicode_offset(1, 2)

    def test_overloads(self):
        for args, kwargs, wanted in (((3,), {}, 6), ((3.0,), {}, 6.0), ((3,), {"height": 4}, 12),
                                     ((3,), {"height": 0.5}, 1.5), ((), {"height": 4, "width": 1}, 4)):
            found = m.named_area(*args, **kwargs)
            self.assertEqual((found, type(found)), (wanted, type(wanted)), (args, kwargs))
        for call, words in (
                (lambda: m.named_area(1, 2), "named_area() takes 1 positional argument but 2 were given"),
                (lambda: m.named_area(1, height="x"), "no overload for (int, str)"),
                (lambda: m.named_area("x"), "no overload for (str, default)")):
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
        self.assertEqual((m.named_object(), m.named_object(object=3)), (None, 3))


class Overloads(unittest.TestCase):
    def test_names_and_defaults_in_common(self):
        for args, kwargs, wanted in (
                ((3,), {}, 6), ((3.0,), {}, 6.0), ((3, 4), {}, 12), ((3, 4.0), {}, 12.0),
                ((), {"width": 3}, 6), ((), {"height": 0.5, "width": 3}, 1.5), ((3,), {"height": 4}, 12),
                ((True, 4), {}, 4)):
            found = m.area(*args, **kwargs)
            self.assertEqual((found, type(found)), (wanted, type(wanted)), (args, kwargs))
        self.assertEqual((m.one_of(2), m.one_of(2.0)), (2, -2.0))

    def test_words(self):
        for call, error, words in (
                (lambda: m.area(), TypeError, "area() missing 1 required positional argument: 'width'"),
                (lambda: m.area(1, 2, 3), TypeError, "area() takes from 1 to 2 positional arguments "),
                (lambda: m.area(1, depth=2), TypeError, "unexpected keyword argument 'depth'"),
                (lambda: m.area(1, width=2), TypeError, "multiple values for argument 'width'"),
                (lambda: m.area("x"), TypeError,
                 "area() has no overload for (str, default); it offers 'll->l', 'dd->d'"),
                (lambda: m.area(height="x", width=1), TypeError, "no overload for (int, str)"),
                (lambda: m.area(10 ** 400), OverflowError, "for the int in argument 1;"),
                (lambda: m.area(1, height=2 ** 63), OverflowError, "for the int in argument 2;"),
                (lambda: m.one_of(x=1), TypeError, "takes no keyword arguments")):
            with self.assertRaises(error) as caught:
                call()
            self.assertIn(words, str(caught.exception))

    def test_documentation(self):
        self.assertEqual(str(inspect.signature(m.area)), "(width, height=2)")
        self.assertEqual(m.area.__doc__, "area(int, int) -> int\narea(float, float) -> float\n\n"
                                         "The area of a rectangle.")
        self.assertEqual(str(inspect.signature(m.one_of)), "(x, /)")


class Documentation(unittest.TestCase):
    def test_signatures(self):
        for python in TWINS:
            self.assertEqual(inspect.signature(getattr(m, python.__name__)), inspect.signature(python))
        for name, wanted in (("positional", "(a, b=8, c=9, /)"), ("unnamed", "(arg0, arg1, arg2, /)"),
                             ("twice_positional", "(x, /)"), ("twice_default", "(x=21, /)"),
                             ("large", "(x=1e+300)"),
                             ("object_or_none", "(object=None)"), ("own_text", "(value, /)"),
                             ("own_words", "(arg0, /)"), ("blank_line", "(arg0, /)"), ("offset", "(x, *, by=0.5)"),
                             ("named_area", "(width, *, height=2)"), ("sum", "(values, *, start=0.0)"),
                             ("one_again", "(*, x)"), ("named_object", "(*, object=None)")):
            self.assertEqual(str(inspect.signature(getattr(m, name))), wanted, name)
        self.assertEqual(m.every_kind.__text_signature__, "($module, a, /, b, *, c)")

    def test_defaults(self):
        found = {name: parameter.default
                 for name, parameter in inspect.signature(m.all_defaults).parameters.items()}
        self.assertEqual(found, dict(
            flag=True, narrow=-128, wide=2 ** 64 - 1, single=0.5, real=-0.0, extended=math.inf,
            z=1 - 2j, w=3 + 0j, text="it's\n\\", object=None, items=None, memory=None))
        self.assertEqual(math.copysign(1, found["real"]), -1)
        self.assertIs(inspect.signature(m.not_a_number).parameters["x"].default, ...)

    def test_text(self):
        self.assertEqual(m.defaults.__doc__, "Documented.")
        self.assertIsNone(m.named.__doc__)
        # inspect cannot read names that are not ASCII.
        self.assertIsNone(m.unicode.__text_signature__)
        self.assertIsNone(m.unicode_offset.__text_signature__)
        self.assertEqual(m.own_text.__doc__, "Own.")
        self.assertEqual(m.one.__doc__, "Documented.")
        self.assertEqual(m.own_words.__doc__, "own_words(value) is a function.")
        self.assertIn("is no signature", m.blank_line.__doc__)
        self.assertIn("defaults(a, b=8, c=9)\n    Documented.", pydoc.plain(pydoc.render_doc(m.defaults)))
        self.assertIn("one(*, x)\n    Documented.", pydoc.plain(pydoc.render_doc(m.one)))

    def test_overloads(self):
        self.assertIsNone(m.overloads.__text_signature__)
        self.assertEqual(
            m.overloads.__doc__,
            "overloads(int) -> int\n"
            "overloads(float, str) -> float\n"
            "overloads(object, pointer to float, pointer, bool, complex) -> None\n"
            "\n"
            "Three overloads.")


class Leaks(unittest.TestCase):
    def test_references(self):
        value, name, wrong = 2 ** 40, "".join(["be", "e"]), "".join(["w", "rong"])

        def use():
            m.last(value, value, c=value), m.named_object(object=value)
            m.mixed(value, **{name: 2}), m.optional(b=value), m.object_or_none(object=value)
            m.object_or_none()
            for call in (lambda: m.mixed(value), lambda: m.mixed(1, **{wrong: value}),
                         lambda: m.mixed(1, 2, **{name: value}), lambda: m.mixed(1, 2, a=value),
                         lambda: m.named(value, value, value, value), lambda: m.unicode(**{wrong: 1}),
                         lambda: m.last(value, value, value), lambda: m.last(value, value, value, c=value),
                         lambda: m.required(value, **{name: value}), lambda: m.one(**{wrong: value}),
                         lambda: m.last(value, value, c="x")):
                try:
                    call()
                except TypeError:
                    continue
                raise AssertionError("nothing was raised")

        leaks.check(use, 200, warm_up=1, unchanged=(value, name, wrong, None))

    def test_an_interrupt_while_an_exception_says_what_it_is(self):
        for kind in (KeyboardInterrupt, ValueError):
            class Odd:
                def __str__(self):
                    raise kind("from a signal handler")

            class Raising:
                pass

            loop = asyncio.new_event_loop()
            future = asyncio.Future(loop=loop)
            future.set_exception(TypeError(Odd()))
            Raising.__index__ = future.result  # a C function, so that there is no traceback
            with self.assertRaises(kind if kind is KeyboardInterrupt else TypeError):
                m.optional(b=Raising())
            loop.close()
