"""Tests the parser of tag()'s `parameters` against Python's own parser."""

import ast
import random
import time
import unittest

import support
from typedcall.tools.parameter_text import parse_parameters


def by_python(text):
    """Returns what Python's parser reads: (names, number of positional-only parameters, number of positional
    parameters, defaults). Returns None if Python refuses the text."""
    try:
        made, = ast.parse(f"def f{text}: pass").body
        arguments = made.args
        if arguments.vararg or arguments.kwarg or made.returns or not isinstance(made.body[0], ast.Pass):
            return None
        positional = [each.arg for each in arguments.posonlyargs + arguments.args]
        last = map(ast.literal_eval, arguments.defaults)
        defaults = dict(zip(positional[len(positional) - len(arguments.defaults):], last))
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
            if default is not None:
                defaults[each.arg] = ast.literal_eval(default)
        names = positional + [each.arg for each in arguments.kwonlyargs]
        return names, len(arguments.posonlyargs), len(positional), defaults
    except (SyntaxError, ValueError):
        return None


def by_grammar(text):
    try:
        return tuple(parse_parameters(text))
    except ValueError:
        return None


class Grammar(unittest.TestCase):
    def check(self, text):
        """Checks that both parsers return the same result."""
        with self.subTest(text=text):
            self.assertIsNotNone(by_grammar(text))
            self.assertEqual(repr(by_grammar(text)), repr(by_python(text)))

    def test_lists(self):
        for text in ("()", " ( ) ", "(x)", "(x,)", "(x, y)", "(x, /)", "(x, /, y)", "(x, /, y, *, z)", "(*, z)",
                     "(x, y=1, /, z=2, *, a, b=3, c)", "(\n  x,\ty = 1 ,\n)", "(\u00e4, \ufb01)"):
            self.check(text)

    def test_constants(self):
        for text in ("0", "1", "-1", "+1", "10_000", "0x1F", "0o17", "0b101", "0", "00", "1.", ".5", "1e5", "1E-5", "-1.5e+3",
                     "1_0.0_1", "1j", "-2.5j", "1+2j", "-1-2J", "1e3j", "True", "False", "None", "'a'", '"b\\n"', "b'c'",
                     "r'\\d'", "''", "()", "(1)", "(1,)", "(1, 'a', (2.5, -1))", "1e999"):
            self.check(f"(x={text})")

    def test_what_is_none(self):
        for text in ("", "x", "(", ")", "(x", "(x))", "(x y)", "(,)", "(x,,)", "(/)", "(x, /, /)", "(*)", "(*,)", "(x, *)",
                     "(*, x, /)", "(*, *, x)", "(*x)", "(**x)", "(x=1, y)", "(x=1, /, y)", "(if)", "(None)", "(1)", "('x')",
                     "(x, x)", "(x=)", "(x=y)", "(x=f())", "(x=[1])", "(x={})", "(x=1+2)", "(x=1j+2j)", "(x=--1)", "(x=-True)",
                     "(x=007)", "(x=0x)", "(x=1__0)", "(x='a)", "(x='a' 'b')", "(x=...)", "(x=lambda: 1)", "(x=f'{y}')",
                     "(x: int)", "(x) -> y", "(x): pass", "(x) #", "(x=1 #\n)", "(x=(1 2))", "(x=(,))", "(x=1.5.5)", "(x=" + "9" * 5000 + ")"):
            with self.subTest(text=text[:50]):
                self.assertIsNone(by_grammar(text))
        with self.assertRaisesRegex(ValueError, r"unusable parameters '\(x, y z\)': ',' or '\)' is missing at position 6, before 'z'"):
            parse_parameters("(x, y z)")

    def test_texts_that_are_made_of_its_tokens(self):
        draw = random.Random(support.seeds.seed(29))
        tokens = ["(", ")", ",", ",", "=", "*", "/", "x", "y", "z", "1", "-", "+", "2j", ".5", "'a'", "None", " ", ":", "->", "\n", "#"]
        taken = 0
        for _ in range(30_000):
            inside = "".join(draw.choice(tokens) for _ in range(draw.randrange(10)))
            text = f"({inside})" if draw.random() < 0.9 else inside
            found = by_grammar(text)
            if found is not None:
                taken += 1
                self.assertEqual(repr(found), repr(by_python(text)), text)
        self.assertGreater(taken, 300)

    @support.timing
    def test_no_text_takes_long(self):
        def seconds(text):
            start = time.process_time()
            by_grammar(text)
            return time.process_time() - start

        for make in (lambda n: "(" * n, lambda n: "(x=" + "(" * n, lambda n: "(x=" + "-" * n, lambda n: "(x=" + "1," * n,
                     lambda n: "(x='" + "a" * n, lambda n: "(x" + " " * n + "y)", lambda n: "(x=" + "'" * n, lambda n: "(x=" + "9" * n,
                     lambda n: "(" + ",".join(f"a{i}" for i in range(n)), lambda n: "(x=(" + "1," * n + "))"):
            with self.subTest(make(3)):
                # Quadratic time would be 64 times as long.
                least = min(seconds(make(5_000)) for _ in range(3))
                self.assertLess(min(seconds(make(40_000)) for _ in range(3)), 24 * least + 0.01)
