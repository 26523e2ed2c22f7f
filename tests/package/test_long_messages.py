"""Tests that messages cut long names, and list only a few of many."""

import ctypes
import unittest

import adapter_support
import support

support.module_only_if(not support.IS_PYPY, "PyPy's own messages are as long as the names")

import typedcall
import typedcall.jax
import typedcall.sql

LONG = "n" * 1_000_000
#: No message is longer, whatever it names.
MOST = 12_000
CODES = "bhilqBHILQfd"
SIGNATURES = [f"{a}{b}{c}->d" for a in CODES for b in CODES for c in CODES][:800]


@ctypes.CFUNCTYPE(ctypes.c_double)
def none():
    return 0.0


ADDRESS = ctypes.cast(none, ctypes.c_void_p)
Named = type(LONG, (), {})


def function(signatures=()):
    def made(*arguments):
        return 0.0

    made.__name__ = made.__qualname__ = LONG
    if signatures:
        typedcall.tag(made, list(signatures), [ADDRESS] * len(signatures))
    return made


class Called:
    def __call__(self):
        pass


Called.__name__ = Called.__qualname__ = LONG


def attempts():
    """Yields the name and the calls of everything that raises."""
    many, callables = function(SIGNATURES), [function(), Called(), function(["d->v"]), function(["O->O"])]
    instance, half = Named(), support.build("typed_functions").half
    overloaded = support.build("narrow_functions").int_or_float
    for name, called in (("wrapper", support.build("default_functions").mixed), ("overloads", overloaded),
                         ("typed function", typedcall.resolve(half, "d->d")),
                         ("long name", typedcall.resolve(many, SIGNATURES[0]))):
        yield f"{name}, an argument", lambda called=called: called(instance)
        yield f"{name}, many arguments", lambda called=called: called(*[instance] * 2000)
        yield f"{name}, a keyword", lambda called=called: called(2.0, **{LONG: 1})
        yield f"{name}, many keywords", lambda called=called: called(2.0, **{f"{LONG}{i}": 1 for i in range(3)})
    yield "a signature", lambda: typedcall.resolve(half, LONG)
    yield "parse_signature", lambda: typedcall.parse_signature(LONG)
    sinks = {
        "resolve": lambda f: typedcall.resolve(f, "PP->P"),
        "resolve, safe": lambda f: typedcall.resolve(f, "PP->P", casting="safe"),
        "bind": lambda f: typedcall.resolve(f, "PP->P", capabilities=0),
        "ufunc": lambda f: typedcall.ufunc(f, signature="(),(),(),()->()"),
        "ufunc of rows": lambda f: typedcall.ufunc(f, signature="(n)->(n)"),
        "ctypes_function": lambda f: typedcall.ctypes_function(f, "PP->P"),
        "cffi_function": lambda f: typedcall.cffi_function(f, "PP->P"),
        "low_level_callable": lambda f: typedcall.low_level_callable(f, "PP->P"),
        "callback": lambda f: typedcall.callback(f, "void *(*)(void *, void *)"),
        "elementwise": lambda f: __import__("typedcall.jax").jax.elementwise(f)(*[__import__("numpy").zeros(1, "D")] * 3),
        "sqlite": lambda f: __import__("typedcall.sql").sql.functions(**{"f": f}),
        "untag, tag": lambda f: typedcall.tag(f, "PP->P", f),
        "tag, a signature": lambda f: typedcall.tag(f, LONG, ADDRESS),
        "tag, C text": lambda f: typedcall.tag(f, f"double {LONG}(struct {LONG})", ADDRESS),
        "tag again": lambda f: typedcall.tag(f, "d->d", ADDRESS, flags=2),
        "tag, parameters": lambda f: typedcall.tag(f, "d->d", ADDRESS, parameters=f"({LONG}, {LONG})"),
        "add": lambda f: typedcall.add_overloads(f, "d->d", ADDRESS),
        "tag_module": lambda f: typedcall.tag_module(f, {LONG: "d->d"}),
        "numba": lambda f: numba_call(f),
    }
    for name, call in sinks.items():
        for f in (many, *callables):
            yield f"{name} of {type(f).__name__[:20]}", lambda call=call, f=f: call(f)


def numba_call(f):
    import numba

    @numba.njit
    def caller(x):
        return f(x, x, x, x)

    return caller(1j)


class Length(unittest.TestCase):
    def test_messages(self):
        found = 0
        for name, call in attempts():
            with self.subTest(name):
                try:
                    call()
                except Exception as error:
                    found += 1
                    self.assertLess(len(str(error)), MOST, (type(error), str(error)[:100]))
        self.assertGreater(found, 80)

    def test_messages_on_pypy(self):
        from typedcall.pypy.trust import Trust

        with self.assertRaisesRegex(ValueError, "trust names 'x") as of_trust:
            Trust(typedcall.Flags(0), frozenset(["x" + LONG])).check(LONG, [LONG] * 20)
        hook = repr(typedcall.accelerate_imports([LONG + str(i) for i in range(20)]))
        for said in (str(of_trust.exception), hook):
            self.assertLess(len(said), MOST, said[:50])

    def test_what_is_left_out_is_counted(self):
        many, half = function(SIGNATURES), support.build("typed_functions").half
        with self.assertRaisesRegex(TypeError, "'bbd->d' and 788 more|'.*' and 790 more"):
            typedcall.resolve(many, "PP->P")
        with self.assertRaisesRegex(ValueError, "^signature 'n{200}' at position 127: "):
            typedcall.resolve(half, LONG)
        with self.assertRaisesRegex(ValueError, "^signature 'n{199} at position 127: "):
            typedcall.parse_signature(LONG)

    def test_the_name_of_an_exception_in_another_library(self):
        failure = type(LONG, (ValueError,), {})

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.POINTER(ctypes.c_double))
        def falls_back(x, place):
            return 1

        def fail(x):
            raise failure("why")

        typedcall.tag(fail, "d&d->i", ctypes.cast(falls_back, ctypes.c_void_p),
                      flags=int(typedcall.Flags.FALLS_BACK | typedcall.Flags.ACQUIRES_GIL | typedcall.Flags.PURE))
        connection = adapter_support.library("apsw").Connection(":memory:")

        typedcall.sql.register(connection, fail)
        with self.assertRaisesRegex(Exception, "^(.*Error: )?n{200}\\.\\.\\.: why$"):
            list(connection.execute("select fail(1.0)"))
        jax = adapter_support.library("jax")
        with self.assertRaisesRegex(Exception, "fail d&d->i: n{200}\\.\\.\\.: why"):
            jax.block_until_ready(typedcall.jax.elementwise(fail)(1.0))

    def test_whole_characters_are_cut(self):
        def made():
            pass

        for start in range(4):
            made.__qualname__ = "n" * start + "\U0001d11e" * 100
            with self.assertRaisesRegex(TypeError, f"^n{{{start}}}\U0001d11e+\\.\\.\\. offers no native signature"):
                typedcall.resolve(made, "d->d")

    def test_representations(self):
        self.assertLess(len(repr(typedcall.resolve(function(SIGNATURES), SIGNATURES[0]))), MOST)
