"""Tests objects and modules that are hard to inspect, for example because their attributes raise exceptions."""
import json
import sys
import types
import unittest

import command_line
import support
import typedcall
from foreign_attributes import Text
from typedcall import sql
from typedcall.tools import foreign

plain, typed = support.build("plain_functions"), support.build("typed_functions")
SPECIAL = ("__module__", "__name__", "__qualname__", "__signatures__", "__doc__",
           "__self__", "__pyx_capi__", "__func__", "__text_signature__", "__wrapped__")


def raising(error, callable_=True):
    """Returns a callable whose attributes raise this exception."""
    def boom(self, *unused):
        raise error

    body = dict(__getattribute__=boom, __hash__=boom, __eq__=boom, __repr__=boom, __bool__=boom)
    if callable_:
        body["__call__"] = lambda self, x: x / 2
    return type("Raising", (), body)()


def answering(value):
    """Returns a callable whose special attributes have this value."""
    def answer(self, name):
        return value if name in SPECIAL else object.__getattribute__(self, name)

    body = {"__getattribute__": answer, "__call__": lambda self, x: x / 2}
    return type("Answering", (), body)()


ERRORS = (ValueError("no"), RecursionError(), StopIteration(), AttributeError("no"))
VALUES = (None, 5, [1], {}, Text("text"), "\udc80", "\x1b[31mred", "a\0b", "x" * 10**6, b"name",
          object(), types.SimpleNamespace)


class Objects(unittest.TestCase):
    def check_one(self, function):
        """Checks all functions of the package with this object, with and without a tag."""
        self.assertEqual(typedcall.signatures(function), [])
        self.assertEqual(typedcall.publish(function), [])
        with self.assertRaises(TypeError):
            typedcall.resolve(function, "d->d")
        with self.assertRaises(TypeError):
            typedcall.ctypes_function(function)
        with self.assertRaises(TypeError):
            typedcall.tag(plain.half, "d->d", function)
        typedcall.tag(function, "d->d", plain.addresses["half"])
        try:
            self.assertEqual(typedcall.signatures(function), ["d->d"])
            with self.assertRaisesRegex(TypeError, "offer"):
                typedcall.resolve(function, "l->l")
            resolved = typedcall.resolve(function, "d->d", capabilities=0)
            self.assertEqual(resolved(3.0), 1.5)
            self.assertIn("d->d", repr(resolved))
            self.assertEqual(typedcall.ctypes_function(function)(3.0), 1.5)
        finally:
            typedcall.untag(function)

    def test_attributes_that_raise(self):
        for error in ERRORS:
            with self.subTest(error=error):
                self.check_one(raising(error))

    def test_attributes_that_are_no_text(self):
        for number, value in enumerate(VALUES):
            with self.subTest(number=number):
                self.check_one(answering(value))

    def test_a_class_that_lies(self):
        import ctypes

        pretended = [int, str, types.BuiltinFunctionType, ctypes.CFUNCTYPE(None), ctypes.c_void_p,
                     typedcall.TypedFunction, types.MethodType]
        for name, of_library in (("numpy", "ufunc"), ("scipy._lib._ccallback", "LowLevelCallable"),
                                 ("_cffi_backend", "_CDataBase")):
            if name in sys.modules:
                pretended.append(getattr(sys.modules[name], of_library))
        for kind in pretended:
            with self.subTest(kind=kind):
                self.check_one(type("Liar", (), {"__class__": kind,
                                                 "__call__": lambda self, x: x})())

    @support.ON_CPYTHON  # the sinks are
    def test_arguments_that_lie(self):
        """The real type of an argument decides, and not its `__class__`."""
        for lie in (property(lambda self: 1 / 0), str, int, dict):
            bad = type("Liar", (), {"__class__": lie, "__module__": "m" * 10**6})()
            for at, call in enumerate((
                    lambda: typedcall.callback(typed.half, bad), lambda: sql.register(bad, typed.half),
                    lambda: sql.register(None, typed.half, name=bad), lambda: typedcall.ufunc(typed.half, name=bad),
                    lambda: typedcall.ufunc(typed.half, signature=bad), lambda: typedcall.low_level_callable(typed.half, bad),
                    lambda: typedcall.resolve(typed.half, bad))):
                with self.subTest(at=at, lie=lie):
                    try:
                        call()
                    except ImportError as error:
                        self.skipTest(str(error))  # the library is not there
                    except TypeError as error:
                        self.assertIn("Liar", str(error))
                        self.assertLess(len(str(error)), 500)
                    else:
                        self.fail("it was accepted")

    def test_a_metaclass_that_raises(self):
        def boom(self, *unused):
            raise ValueError("no")

        meta = type("Meta", (type,), {"__name__": property(boom), "__eq__": boom,
                                      "__hash__": type.__hash__})
        self.check_one(meta("Made", (), {"__call__": lambda self, x: x})())

    def test_a_message_is_one_that_a_terminal_can_show(self):
        for text in ("\x1b[31mred", "two\nlines", "\udc80", "\u202ebackwards", "x" * 10**6):
            with self.subTest(text=text[:10]):
                with self.assertRaises(TypeError) as caught:
                    typedcall.ctypes_function(answering(text))
                message = str(caught.exception)
                self.assertTrue(message.isprintable(), message[:300])
                self.assertLess(len(message), 1000)

    def test_an_interrupt_comes_out(self):
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
            for ask in (lambda: typedcall.ctypes_function(raising(kind())),
                        lambda: typedcall.resolve(raising(kind()), "d->d"),
                        lambda: typedcall.tag(raising(kind(), False), "d->d", 1)):
                with self.subTest(kind=kind), self.assertRaises(kind):
                    ask()

    @support.ON_CPYTHON  # `__module__` is read-only on PyPy
    def test_the_module_of_a_builtin_function(self):
        known = plain.half.__module__
        self.addCleanup(setattr, plain.half, "__module__", known)
        for value in ([1], 5, Text("x"), "", None, "no.such.module"):
            plain.half.__module__ = value
            self.assertEqual(typedcall.signatures(plain.half), [])

    def test_libraries_that_are_half_imported(self):
        names = ["numpy", "scipy._lib._ccallback", "_cffi_backend", "numba.core.ccallback", "numba",
                 "scipy.special", "numba.core.types.function_type"]
        for stand_in in (types.ModuleType("half"), None, 5, raising(ValueError("no"))):
            with support.modules(dict.fromkeys(names, stand_in)):
                self.assertEqual(typedcall.signatures(len), [])
                with self.assertRaises(TypeError):
                    typedcall.tag(plain.half, "d->d", object())

    def test_what_pretends_to_be_cythons(self):
        module = types.ModuleType("pretended")
        sys.modules["pretended"] = module
        self.addCleanup(sys.modules.pop, "pretended")
        kind = type("cython_function_or_method", (), {"__call__": lambda self, x: x})
        function = kind()
        function.__module__, function.__name__ = "pretended", "function"
        module.function = function
        for capi in (None, 5, [], {5: 5}, {"function": 5}, {"function": None, (): []},
                     raising(ValueError("no")), {b"function": "x"}):
            module.__pyx_capi__ = capi
            for signatures in (None, 5, {}, {1: 2}, raising(ValueError("no"))):
                function.__signatures__ = signatures
                self.assertEqual(typedcall.signatures(function), [])


class Messages(unittest.TestCase):
    """Messages must not run an object's code."""

    def test_keyword_arguments(self):
        for error in (ValueError("no"), RecursionError()):
            function = raising(error)
            typedcall.tag(function, "d->d", plain.addresses["half"])
            resolved = typedcall.resolve(function, "d->d")
            with self.assertRaisesRegex(TypeError, "keyword"):
                resolved(x=1.0)
            self.assertEqual(resolved(1.0), 0.5)

    def test_the_name_that_the_user_knows(self):
        class Record:  # pybind11's functions have such a record
            pass

        class Function:
            def __init__(self):
                self.__self__ = Record()
                self.__name__ = "add"
                self.__qualname__ = Record.__qualname__ + ".add"

            def __call__(self, x):
                return x

        function = Function()
        typedcall.tag(function, "d->d", plain.addresses["half"])
        self.addCleanup(typedcall.untag, function)

        def names():
            with self.assertRaises(TypeError) as caught:
                typedcall.resolve(function, "l->l")
            said = str(caught.exception).partition(" ")[0]
            # On PyPy, the message contains the full name.
            return said.removeprefix(__name__ + "."), foreign.name_of(function)

        self.assertEqual(names(), ("add", __name__ + ".add"))
        Record.add = Function.__call__  # a method
        qualified = Record.__qualname__ + ".add"
        self.assertEqual(names(), (qualified, __name__ + "." + qualified))

    def test_signatures(self):
        class Hostile(str):
            def boom(self, *unused):
                raise KeyError("no")

            __repr__ = __str__ = __format__ = __hash__ = __eq__ = __len__ = boom

        for ask in (lambda text: typedcall.resolve(plain.half, text),
                    lambda text: typedcall.tag(lambda x: x, text, plain.addresses["half"])):
            for text in ("dd", "\ud800", "d\n->d", "x" * 1000):
                with self.subTest(text=text[:9]), self.assertRaises(ValueError):
                    ask(Hostile(text))

    @support.ON_CPYTHON  # PyPy has no PYTHONMALLOC
    def test_a_type_that_gets_another_name_meanwhile(self):
        source = """
import gc, typedcall, plain_functions as plain
from typedcall.native import _native
class Kind:
    def __call__(self, x): return x
Kind.__name__ = "K" * 40
def rename(phase, info): Kind.__name__ = "M" * 41
function = Kind()
typedcall.tag(function, "d->d", plain.addresses["half"])
gc.callbacks.append(rename)
for threshold in range(1, 40):
    Kind.__name__ = "K" * 40
    gc.collect(0)
    Kind.__name__ = "K" * 40
    gc.set_threshold(threshold)
    try:  # not typedcall.tag(), which makes this message in Python
        _native.tag(function, [("d->d", 0, plain.addresses["half"] + 1)], None)
    except ValueError as error:
        gc.set_threshold(0)
        assert str(error).split()[0] in ("K" * 40, "M" * 41), ascii(str(error))
"""
        status, _, errors = support.python(
            "-c", source, paths=[support.module_folder("plain_functions")],
            environment={"PYTHONMALLOC": "debug"})
        self.assertEqual((status, errors), (0, ""))


@support.ON_CPYTHON  # CPython's
class Ufuncs(unittest.TestCase):
    def test_names_and_documentation(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("numpy is not installed")
        for function in [answering(value) for value in VALUES] + [raising(e) for e in ERRORS]:
            typedcall.tag(function, "d->d", plain.addresses["half"])
            self.assertEqual(typedcall.ufunc(function)([3.0])[0], 1.5)

    def test_exports_to_cython(self):
        module = types.ModuleType("exporting")
        vars(module)[5] = vars(module)[None] = vars(module)["no name"] = plain.half
        vars(module)["raising"] = raising(ValueError("no"))
        module.__class__ = type("Odd", (types.ModuleType,), {
            "__getattr__": lambda self, name: 1 / 0})

        def half(x):
            return x / 2

        typedcall.tag(half, "d->d", plain.addresses["half"])
        vars(module)["half"] = half
        self.assertEqual(typedcall.export_to_cython(module), ["half"])
        self.assertIn("double half(double)", typedcall.cython_declarations(module))
        for capi in (5, None, [], raising(ValueError("no"))):
            module.__dict__["__pyx_capi__"] = capi
            with self.assertRaisesRegex(TypeError, "__pyx_capi__"):
                typedcall.export_to_cython(module)
            with self.assertRaisesRegex(TypeError, "__pyx_capi__"):
                typedcall.tag_pyx_capi(module)
        module.__dict__["__pyx_capi__"] = {"half": 5, 5: 5}
        with self.assertRaisesRegex(TypeError, "its __pyx_capi__ has no capsules"):
            typedcall.tag_pyx_capi(module)


HOSTILE = """
import sys, types, typedcall
import plain_functions as plain

def tagged(x): return plain.half(x)
typedcall.tag(tagged, "d->d", plain.addresses["half"])

def boom(self, *unused): raise ValueError("no")
raising = type("R", (), {"__call__": boom, "__getattribute__": boom, "__eq__": boom,
                         "__hash__": boom, "__repr__": boom})()
lying = type("L", (), {"__class__": type, "__call__": boom})()
def leave(self, *unused): raise SystemExit(3)
leaving = type("builtin_function_or_method", (), {"__call__": boom, "__getattribute__": leave})()

class Leaving:
    descriptor = type("D", (), {"__get__": leave})()

Meta = type("Meta", (type,), {"__getattribute__": boom})
Class = Meta("Class", (), {"method": property(boom)})

class Own:
    descriptor = type("D", (), {"__get__": boom})()

vars()[5] = vars()[None] = vars()[(1, 2)] = tagged
vars()["\\x1b[31mred"] = tagged
vars()["\\udc80"] = tagged
vars()["x" * 100000] = tagged
vars()["two\\nlines"] = tagged
__pyx_capi__ = 5
def __getattr__(name): raise SystemExit(name)
"""


class CommandLine(command_line.CommandLine):
    def run_it(self, source, *arguments, environment=None):
        self.module("hostile", source)
        ended = support.python("-m", "typedcall", *arguments, cwd=self.folder,
                               paths=[support.module_folder("plain_functions"), self.folder],
                               environment=environment or {})
        self.assertNotIn("Traceback", ended[2])
        return ended

    def test_show_and_verify(self):
        for command in ("show", "verify"):
            status, output, errors = self.run_it(HOSTILE, command, "hostile", "--json")
            self.assertEqual((status, errors), (0, ""))
            rows = json.loads(output)["entries" if command == "show" else "results"]
            self.assertEqual(sorted(row["name"] for row in rows),
                             sorted(["tagged", "\x1b[31mred", "\udc80", "x" * 100000, "two\nlines"]))

    def test_what_a_table_shows(self):
        try:
            import rich  # noqa: F401
        except ImportError:
            self.skipTest("rich is not installed")
        for encoding in ("utf-8", "ascii"):
            status, output, errors = self.run_it(
                HOSTILE + "\u00e4 = tagged\n", "show", "hostile",
                environment={"PYTHONIOENCODING": encoding})
            self.assertEqual((status, errors), (0, ""))
            self.assertNotIn("\x1b", output)
            self.assertIn("\\x1b[31mred", output)
            self.assertIn("\\udc80", output)
            self.assertNotIn("x" * 300, output)

    def test_one_name(self):
        for name in ("nothing", "Class.method", "Own.descriptor", "raising.x"):
            status, _, errors = self.run_it(HOSTILE, "show", "hostile:" + name)
            self.assertEqual(status, 2, errors)
            self.assertRegex(errors, r"\Atypedcall: [^\n]+\n\Z")
        self.assertEqual(self.run_it(HOSTILE, "show", "hostile:tagged", "--json")[0], 0)

    def test_an_exception_without_a_text(self):
        for body in ("def __str__(self): raise ValueError", "def __str__(self): return 5",
                     "def __str__(self): return '\\x1b[31m' * 10**6"):
            source = "class Odd(Exception):\n    %s\nraise Odd\n" % body
            status, _, errors = self.run_it(source, "show", "hostile")
            self.assertEqual(status, 2)
            self.assertRegex(errors, r"\Atypedcall: [^\n]{1,10100}\n\Z")
            self.assertNotIn("\x1b", errors)

    def test_a_module_that_is_none(self):
        source = "import sys\nsys.modules[__name__] = %s\n"
        for stand_in in ("5", "type('C', (), {'__slots__': ()})()", "{'a': 1}"):
            status, _, errors = self.run_it(source % stand_in, "show", "hostile")
            self.assertEqual(status, 4)
            self.assertIn("offers a native signature", errors)

    def test_a_module_that_grows_while_it_is_looked_at(self):
        source = HOSTILE + """
        import threading
        def grow():
            number = 0
            while True:
                number += 1
                globals()["n%d" % (number % 500)] = number
                globals().pop("n%d" % ((number * 7) % 500), None)
        sys.setswitchinterval(1e-6)
        threading.Thread(target=grow, daemon=True).start()
        """.replace("\n        ", "\n")
        self.assertEqual(self.run_it(source, "show", "hostile:tagged", "--json")[0], 0)
        status, output, _ = self.run_it(source, "show", "hostile", "--json")
        self.assertEqual(status, 0)
        self.assertIn("tagged", output)

    def test_an_interrupt(self):
        source = HOSTILE + """
class Interrupting:
    def __call__(self): pass
    def __getattribute__(self, name): raise KeyboardInterrupt
kind = type("builtin_function_or_method", (Interrupting,), {})
interrupting = kind()
"""
        status, _, errors = self.run_it(source, "show", "hostile")
        self.assertEqual((status, errors), (130, "typedcall: interrupted\n"))
