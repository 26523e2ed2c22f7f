"""Tests the names and defaults of parameters that Python code passes to tag()."""

import ctypes
import gc
import inspect
import types
import unittest
import weakref

import adapter_support
import support
import typedcall
from typedcall.pypy import accelerate

functions = support.build("default_functions")
keyword_only = support.build("keyword_only_functions")
ADDRESS = typedcall.entries(functions.plain)[0].address
CTYPES = {"d": ctypes.c_double, "f": ctypes.c_float, "l": ctypes.c_long, "i": ctypes.c_int, "B": ctypes.c_ubyte}



def fresh(text="(x, y)"):
    """Returns a new Python function with these parameters. It computes x - y."""
    scope = {}
    exec("def function%s: return float(x) - float(y)" % text, scope)
    return scope["function"]


class Tag(unittest.TestCase):
    def tagged(self, text="(x, y)", **options):
        function = fresh(text)
        typedcall.tag(function, "dd->d", ADDRESS, **options)
        return function, typedcall.resolve(function, "dd->d")

    def test_parameters(self):
        _, f = self.tagged(parameters="(x, /, y=-1.5)")
        self.assertEqual((f(2.0), f(2.0, 1.0), f(2.0, y=1.0)), (3.5, 1.0, 1.0))
        with self.assertRaisesRegex(TypeError, "positional-only arguments passed as keyword arguments: 'x'"):
            f(x=1.0)
        _, f = self.tagged(parameters="(x, *, y=2)")
        self.assertEqual((f(2.0), f(y=1, x=3)), (0.0, 2.0))
        with self.assertRaisesRegex(TypeError, r"at most 1 arguments by position \(2 given\)"):
            f(1.0, 2.0)

    def test_defaults(self):
        _, f = self.tagged(defaults=(0.5,))
        self.assertEqual((f(2.0), f(x=2.0), f(2.0, y=1.0)), (1.5, 1.5, 1.0))
        _, f = self.tagged(defaults=[1, 2])
        self.assertEqual(f(), -1.0)
        # The Python function has its own defaults.
        _, f = self.tagged("(x, y=4.0)")
        self.assertEqual((f(2.0), f(y=1.0, x=0.0)), (-2.0, -1.0))
        _, f = self.tagged("(*args)", defaults=(3.0,))
        self.assertEqual(f(2.0), -1.0)
        with self.assertRaisesRegex(TypeError, "takes no keyword arguments"):
            f(x=1.0)

    @support.ON_CPYTHON  # callbacks acquire the GIL
    def test_defaults_that_python_converts(self):
        """Defaults are converted like the arguments of a call."""
        for signature, default, made in (("dd->d", True, 1.0), ("dd->d", False, 0.0), ("ff->f", True, 1.0),
                                         ("ll->l", True, 1), ("ii->i", False, 0), ("BB->B", True, 1)):
            own = ctypes.CFUNCTYPE(*map(CTYPES.get, signature[-1] + signature[:2]))(lambda x, y: x - y)
            function = fresh()
            typedcall.tag(function, signature, own, parameters=f"(x, y={default})")
            self.assertEqual(typedcall.resolve(function, signature)(3), 3 - made)
        for default in (0, 1, 2, -1, 0.0, 0.5, 1j, None, "", "a", b"", True):
            own = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_bool)(lambda x: not x)
            for options in ({"parameters": f"(x={default!r})"}, {"defaults": (default,)}):
                function = fresh("(x)")
                typedcall.tag(function, "?->?", own, **options)
                with self.subTest(options=options):
                    self.assertEqual(typedcall.resolve(function, "?->?")(), not default)

    def test_what_contradicts(self):
        for text, options, words in (
                ("(x, y)", {"parameters": "(x)"}, r"has 1 parameters in Python \(x\), and its C function 2"),
                ("(x, y)", {"parameters": "(x, y, z)"}, "has 3 parameters in Python"),
                ("(x)", {"defaults": (1.0,)}, "has 1 parameters in Python"),
                ("(x, y=2.0)", {"defaults": (1.0,)}, "the default of 'y' is 2.0 to .* own signature, not 1.0"),
                ("(x, y)", {"defaults": (1, 2, 3)}, "3 defaults, but the C function has 2 parameters"),
                ("(x, y)", {"defaults": ("a",)}, "the default of 'y': 'a' is not accepted for double"),
                ("(x, y)", {"defaults": (None,)}, "the default of 'y': None is not accepted for double"),
                ("(x, y)", {"defaults": (10**400,)}, "does not fit double"),
                ("(x, y)", {"parameters": "(x, y=1j)"}, "1j is not accepted for double"),
                ("(x, y)", {"parameters": "(x, *args)"}, "unusable parameters"),
                ("(x, y)", {"parameters": "(x, x)"}, "there are two named 'x'"),
                ("(x, y)", {"parameters": "(fi, \ufb01)"}, "there are two named 'fi'"),
                ("(x, y)", {"parameters": "(x, y=f())"}, "unusable parameters"),
                ("(x, y)", {"parameters": "(x, y=1"}, "unusable parameters"),
                ("(x, y)", {"parameters": "(x, y): return 1\ndef g()"}, "more than a list of parameters"),
                ("(x, y)", {"parameters": "(x, y): pass; import os #"}, "more than a list of parameters at position 6"),
                ("(x, y)", {"parameters": "(x, y) -> z"}, "more than a list of parameters at position 7"),
                ("(x, y)", {"parameters": "(x, y=" + "(" * 10**6}, "a number is missing at position 26"),
                ("(x, y)", {"parameters": "(x, y=" + "-" * 10**6}, "a number is missing at position 7")):
            function = fresh(text)
            with self.subTest(options=options), self.assertRaisesRegex(ValueError, words):
                typedcall.tag(function, "dd->d", ADDRESS, **options)
            self.assertEqual(typedcall.entries(function), [])
        for options, words in (({"parameters": 3}, "parameters must be a str"),
                               ({"defaults": "ab"}, "defaults must be a sequence"),
                               ({"defaults": 3}, "defaults must be a sequence"),
                               ({"defaults": (), "parameters": "(x, y)"}, "give one of them")):
            with self.assertRaisesRegex(TypeError, words):
                typedcall.tag(fresh(), "dd->d", ADDRESS, **options)
        with self.assertRaisesRegex(ValueError, "the default of 'y': 2147483648 does not fit int"):
            typedcall.tag(fresh(), "ii->i", ADDRESS, defaults=(2**31,))
        with self.assertRaisesRegex(ValueError, "the default of 'y': 1.5 is not accepted for int"):
            typedcall.tag(fresh(), "ii->i", ADDRESS, defaults=(1.5,))

    def test_a_signature_that_says_something_else(self):
        _, f = self.tagged("(x)")
        with self.assertRaisesRegex(TypeError, r"has 1 parameters in Python \(x\), and its C function 2"):
            f(x=1.0)
        self.assertEqual(f(3.0, 1.0), 2.0)

    def test_a_signature_that_makes_no_sense(self):
        class Raising(inspect.Signature):
            @property
            def parameters(self):
                raise ZeroDivisionError

        class Half:
            kind = default = property(lambda self: self)

            def __init__(self, name):
                self.name = name

            def __eq__(self, other):
                return 0.5

        class Nonsense(inspect.Signature):
            parameters = {"x": Half("x"), "y": Half(5)}

        for signature in (5, "no signature", Raising(), Nonsense()):
            function = fresh()
            function.__signature__ = signature
            typedcall.tag(function, "dd->d", ADDRESS)
            f = typedcall.resolve(function, "dd->d")
            with self.subTest(signature=type(signature)):
                with self.assertRaisesRegex(TypeError, r"takes exactly 2 arguments \(1 given\)"):
                    f(3.0)
                with self.assertRaisesRegex(TypeError, "its parameter names are unknown"):
                    f(3.0, y=1.0)
                self.assertEqual(f(3.0, 1.0), 2.0)

    def test_again_and_untag(self):
        function, f = self.tagged(parameters="(x, y=1.0)")
        typedcall.tag(function, "dd->d", ADDRESS, parameters="(x, y=1.0)")
        with self.assertRaisesRegex(ValueError, "tagged with other parameters already"):
            typedcall.tag(function, "dd->d", ADDRESS, parameters="(x, y=2.0)")
        self.assertTrue(typedcall.untag(function))
        typedcall.tag(function, "dd->d", ADDRESS, parameters="(x, y=2.0)")
        self.assertEqual(typedcall.resolve(function, "dd->d")(3.0), 1.0)

    @support.WHERE_FUNCTIONS_GO
    def test_lifetime(self):
        function, f = self.tagged(parameters="(x, y=1.0)")
        f(2.0), f(2.0, y=1.0)
        gone = weakref.ref(function)
        del function, f
        for _ in range(3):
            gc.collect()
        self.assertIsNone(gone())

    @support.ON_CPYTHON  # on PyPy, typed functions are Python functions
    @support.WHERE_FUNCTIONS_GO
    def test_a_default_that_leads_back(self):
        def alive():
            gc.collect()
            return sum(type(each) is typedcall.TypedFunction for each in gc.get_objects())

        before = alive()
        function, f = self.tagged()
        function.__defaults__ = ((f,),)
        with self.assertRaisesRegex(TypeError, "must be real number, not tuple"):
            f(2.0)
        del function, f
        self.assertEqual(alive(), before)

    def test_overloads(self):
        function = fresh("(x, y=1)")
        ints, floats = typedcall.entries(functions.area)[:2]
        typedcall.tag(function, [ints.signature, floats.signature], [ints.address, floats.address],
                      flags=ints.flags, parameters="(x, y=3)")
        self.assertEqual(repr(typedcall.resolve(function, "ll->l")(4)), "12")
        self.assertEqual(repr(typedcall.resolve(function, "dd->d")(4)), "12.5")

    def test_consumers_in_c_have_the_whole_function_only(self):
        function, _ = self.tagged(parameters="(x, y=1.0)")
        self.assertEqual(typedcall.signatures(function), ["dd->d"])
        with self.assertRaisesRegex(TypeError, "it offers 'dd->d'"):
            typedcall.resolve(function, "d->d")


class KeywordOnly(unittest.TestCase):
    """Tests keyword-only parameters."""

    def test_tag(self):
        """tag() accepts the text signature as `parameters`."""
        address = typedcall.entries(keyword_only.last)[0].address

        def function(x, y, *, z):
            return x * y * z

        # On PyPy, inspect.signature() includes the module parameter.
        text = "(" + keyword_only.last.__text_signature__.partition(", ")[2]
        typedcall.tag(function, "ddd->d", address, parameters=text)
        typed = typedcall.resolve(function, "ddd->d")
        self.assertEqual((typed(1, b=2), typed(1, 2, c=3)), (129.0, 123.0))
        with self.assertRaises(TypeError):
            typed(1, 2, 3)

    def test_buffers(self):
        values = memoryview(bytearray(16)).cast("d")
        values[0] = 1.5
        typed = typedcall.resolve(keyword_only.sum, "*kdd->d")
        self.assertEqual((typed(values), typed(values, start=1.0)), (1.5, 2.5))
        with self.assertRaises(TypeError):
            typed(values, 1.0)

    @support.ON_CPYTHON
    def test_ufunc(self):
        numpy = adapter_support.library("numpy")
        from typedcall import ufunc

        root = ufunc(keyword_only.root)
        self.assertEqual(list(root(numpy.array([4.0, -4.0]), 3.0)), [6.0, -12.0])
        with self.assertRaisesRegex(OverflowError, r"narrow\(\) argument 'x'"):
            ufunc(keyword_only.narrow)(numpy.array([4, 2**40]), 3)
        self.assertEqual(ufunc(keyword_only.sum)(numpy.array([1.0, 2.0]), 0.5), 3.5)


class Names(unittest.TestCase):
    def test_names_that_are_not_interned(self):
        f = typedcall.resolve(functions.distance, "ddddd->d")
        self.assertEqual(f(1, 2, **{"".join(["rad", "ius"]): 0.0}), f(1, 2, radius=0.0))
        for name in ("\udc80", "", "a", "radius2"):
            with self.assertRaises(TypeError):
                f(1, 2, **{name: 0.0})

    @support.ON_PYPY  # nothing is accelerated on CPython
    def test_names_that_are_others_in_code(self):
        class Text(str):
            def __format__(self, spec):
                return "1"

        for names in (("fi", "\ufb01"), (Text("x"), "y")):
            function = fresh("(*args)")
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            function.__signature__ = inspect.Signature(
                [inspect.Parameter(name, kind, default=1.0) for name in names])
            typedcall.tag(function, "dd->d", ADDRESS)
            module = types.ModuleType("others_in_code")
            module.function = function
            self.assertEqual(accelerate(module, trust="thread_safe").accelerated, ["function"])
            self.assertEqual(module.function(3.0, 1.0), 2.0)

    def test_what_the_shorter_function_leaves_out(self):
        f = typedcall.resolve(functions.distance, "dddd->d")
        self.assertEqual(f(1, 2, 3, 4), functions.distance(1, 2, 3, 4))
        self.assertEqual(f(1, 2, d=4), functions.distance(1, 2, d=4))
        with self.assertRaisesRegex(TypeError, "takes 'radius' from its default; resolve the signature"):
            f(1, 2, radius=3)

    def test_a_default_without_a_literal(self):
        self.assertIs(inspect.signature(functions.with_nan).parameters["y"].default, ...)
        f = typedcall.resolve(functions.with_nan, "ddd->d")
        with self.assertRaisesRegex(TypeError, "missing|does not take"):
            f(1.0)
        self.assertEqual(typedcall.resolve(functions.with_nan, "d->d")(1.0), functions.with_nan(1.0))


@support.ON_CPYTHON
class Numba(unittest.TestCase):
    def test_what_is_refused(self):
        numba = adapter_support.library("numba")
        for code, words in (
                ("f(1.0, z=2.0)", "the default of 'y' has no literal; pass it"),
                ("f(1.0, unknown=2.0)", "unexpected keyword argument 'unknown'")):
            scope = {"f": functions.with_nan}
            exec("def call(): return " + code, scope)
            with self.assertRaisesRegex(numba.errors.TypingError, words):
                numba.njit(scope["call"])()
        untold = fresh("(*args)")
        typedcall.tag(untold, "dd->d", ADDRESS)
        with self.assertRaisesRegex(numba.errors.TypingError, "its parameter names are unknown"):
            numba.njit(lambda: untold(1.0, y=2.0))()
        wrong = fresh("(x)")
        typedcall.tag(wrong, "dd->d", ADDRESS)
        with self.assertRaisesRegex(numba.errors.TypingError, "has 1 parameters in Python"):
            numba.njit(lambda: wrong(x=2.0))()
        self.assertEqual(numba.njit(lambda: wrong(2.0, 0.5))(), 1.5)

    def test_own_defaults_are_converted_as_python_does(self):
        numba = adapter_support.library("numba")
        for letters, default, added in (
            ("d", True, 1), ("d", 2, 2), ("l", True, 1), ("i", False, 0), ("?", 2, 1), ("?", 0, 0), ("?", True, 1),
        ):
            with self.subTest(letters, default=default):
                kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, CTYPES.get(letters, ctypes.c_bool))
                function = fresh("(x, y=%r)" % default)
                typedcall.tag(function, "d%s->d" % letters, kind(lambda x, y: x + y))
                self.assertEqual(typedcall.resolve(function, "d%s->d" % letters)(2.5), 2.5 + added)
                self.assertEqual(numba.njit(lambda x, f=function: f(x))(2.5), 2.5 + added)
        for default in (1.5, 2**31):
            narrow = fresh("(x, y=%r)" % default)
            typedcall.tag(narrow, "di->d", ADDRESS)
            with self.assertRaisesRegex(numba.TypingError, "its default: .* (is not accepted for|does not fit) int"):
                numba.njit(lambda x, f=narrow: f(x))(2.5)
