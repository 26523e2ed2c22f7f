"""Tests signatures(), entries() and resolve()."""
import copy
import gc
import importlib.util
import pickle
import unittest
import weakref

import support
import typedcall
from typedcall import Flags

from typedcall.native import _native

typed = support.build("typed_functions")
SIMPLE = Flags.PURE | Flags.THREAD_SAFE | Flags.SHORT


class Entries(unittest.TestCase):
    def test_signatures_are_those_of_the_provider_in_its_order(self):
        self.assertEqual(typedcall.signatures(typed.inc), ["l->l"])
        self.assertEqual(typedcall.signatures(typed.mix), ["dldl->d"])
        self.assertEqual(typedcall.signatures(typed.absolute), ["l->l", "d->d"])
        self.assertEqual(typedcall.signatures(typed.Scaler.scale), ["d->d"])
        self.assertEqual(typedcall.signatures(typed.Scaler(2.0).scale), ["d->d"])

    def test_what_offers_nothing_has_no_signatures(self):
        for nothing in (len, print, lambda x: x, 5, None, typed, "text", int, object(), [].append):
            self.assertEqual(typedcall.signatures(nothing), [], nothing)
            self.assertEqual(typedcall.entries(nothing), [], nothing)

    def test_an_entry_has_signature_flags_address_place(self):
        entry, = typedcall.entries(typed.inc)
        self.assertIsInstance(entry, typedcall.Entry)
        self.assertEqual(entry.signature, "l->l")
        self.assertEqual(entry.flags, SIMPLE)
        self.assertIsInstance(entry.flags, Flags)
        self.assertGreater(entry.address, 0)
        kept = [entry.keep_alive, *gc.get_referents(entry.keep_alive)]
        self.assertTrue(any(each is typed.inc for each in kept), kept)
        self.assertIn(entry.place, ("def row", "method metadata"))

    def test_flags_tell_what_the_function_needs(self):
        entry, = typedcall.entries(typed.div)
        self.assertEqual(entry.flags, Flags.MAY_RAISE | Flags.NEEDS_THREAD)
        entry, = typedcall.entries(typed.invert)
        self.assertEqual(entry.flags, Flags.RETURNS_STATUS | Flags.NEEDS_THREAD)
        entry, = typedcall.entries(typed.Scaler.scale)
        self.assertEqual(entry.flags, Flags.TAKES_SELF | Flags.NEEDS_THREAD)


class Resolve(unittest.TestCase):
    def test_the_result_says_what_it_is(self):
        f = typedcall.resolve(typed.inc, "l->l")
        self.assertIsInstance(f, typedcall.TypedFunction)
        entry, = typedcall.entries(typed.inc)
        self.assertEqual((f.signature, f.address, f.flags), ("l->l", entry.address, entry.flags))
        self.assertIs(f.callable, typed.inc)
        self.assertEqual(f.place, entry.place)
        self.assertEqual(f.__name__, "inc")
        self.assertIn("inc 'l->l'", repr(f))

    def test_overloads(self):
        self.assertEqual(typedcall.resolve(typed.absolute, "l->l")(-3), 3)
        result = typedcall.resolve(typed.absolute, "d->d")(-3)
        self.assertEqual((result, type(result)), (3.0, float))

    def test_equivalent_signatures(self):
        for text in ("q->q", "n->l", "l->q"):
            f = typedcall.resolve(typed.inc, text)
            self.assertEqual((f.signature, f(41)), ("l->l", 42))
            with self.assertRaisesRegex(TypeError, "it offers 'l->l'"):
                typedcall.resolve(typed.inc, text, casting="exact")

    @support.ON_CPYTHON
    def test_safe_casting_changes_no_value(self):
        with self.assertRaises(TypeError):
            typedcall.resolve(typed.half, "f->d")
        f = typedcall.resolve(typed.half, "f->d", casting="safe")
        self.assertEqual(f(0.1), 0.10000000149011612 / 2)  # rounded to a C float
        many = lambda *given: None  # noqa: E731
        typedcall.tag(many, "d" * 127 + "->d", 4096)
        self.assertEqual(typedcall.resolve(many, "f" * 127 + "->d", casting="safe").signature, "d" * 127 + "->d")
        g = typedcall.resolve(typed.inc, "i->l", casting="safe")
        self.assertEqual(g(2**31 - 1), 2**31)
        with self.assertRaises(OverflowError):
            g(2**31)
        wide = typedcall.resolve(typed.turn, "d->Zd", casting="safe")
        self.assertEqual(wide(2.0), 2j)
        widest = typedcall.resolve(typed.half, "d->Zd", casting="safe")
        self.assertEqual(widest(5.0), 2.5 + 0j)

    def test_casting_that_loses_is_refused(self):
        for text in ("d->l", "d->d", "g->l", "O->O"):
            with self.assertRaises(TypeError):
                typedcall.resolve(typed.inc, text, casting="safe")
        with self.assertRaises(TypeError):
            typedcall.resolve(typed.half, "g->d", casting="safe")

    def test_faulty_signatures_name_the_position(self):
        self.assertEqual(typedcall.parse_signature("*kd*B&kZd*s->&kd"),
                         (["*kd", "*B", "&kZd", "*s"], "&kd"))
        for text, position in (("*v->d", 1), ("kd->d", 0), ("d->*d", 3), ("*d" * 64 + "->d", 126),
                               ("", 0), ("d", 1), ("d->", 3), ("x->d", 0), ("d->dd", 4),
                               ("d ->d", 1), ("dv->d", 1), ("d->&", 4), ("Z->d", 1)):
            with self.assertRaisesRegex(ValueError, "position %d:" % position, msg=text):
                typedcall.resolve(typed.half, text)

    def test_wrong_types_are_named(self):
        other = typed.half
        for call, words in (
                (lambda: typedcall.resolve(typed.inc, 3), "a signature is a str, not 'int'"),
                (lambda: typedcall.resolve(typed.inc, b"l->l"), "a signature is a str, not 'bytes'"),
                (lambda: typedcall.resolve(typed.inc, "l->l", casting=3),
                 "casting must be a str, not 'int'"),
                (lambda: typedcall.resolve(typed.inc, "l->l", capabilities="all"),
                 "capabilities must be typedcall.Flags, not 'str'"),
                (lambda: typedcall.tag(other, 3, 1), "a signature is a str, not 'int'"),
                (lambda: typedcall.tag(other, ["l->l"], 1), "several signatures need a sequence "
                                                            "of addresses, not 'int'"),
                (lambda: typedcall.tag(other, "l->l", 1, flags="none"),
                 "flags must be typedcall.Flags, not 'str'")):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertEqual(str(caught.exception), words)

    @support.ON_CPYTHON
    def test_what_ends_the_program_comes_out_of_a_name(self):
        class Odd:
            def __call__(self):
                pass

            def __getattr__(self, name):
                if name == "__qualname__":
                    raise self.error("stop")
                raise AttributeError(name)

        for error in (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
            odd = Odd()
            odd.error = error
            for call in (lambda: typedcall.resolve(odd, "d->d"),
                         lambda: _native.refuse(odd, "d->d", 0, "exact"),
                         lambda: _native.make_function(odd, "d->d", 0, 1, "place", None, "d->d",
                                                       "exact")):
                with self.assertRaises(error):
                    call()
            odd.error = ValueError
            function = _native.make_function(odd, "d->d", 0, 1, "place", None, "d->d", "exact")
            self.assertIn("'Odd' object", repr(function))
            odd.error = error
            self.assertRaises(error, repr, function)

    def test_faulty_capabilities(self):
        for wrong in ("x", 1.5):
            with self.assertRaises(TypeError):
                typedcall.resolve(typed.half, "d->d", capabilities=wrong)
        for wrong in (-1, 1 << 32, 1 << 70):
            with self.assertRaisesRegex(ValueError, "unusable flags"):
                typedcall.resolve(typed.half, "d->d", capabilities=wrong)

    def test_what_was_resolved_offers_what_it_is(self):
        f = typedcall.resolve(typed.absolute, "d->d")
        entry, = typedcall.entries(f)
        self.assertEqual((entry.signature, entry.flags, entry.address, entry.place),
                         (f.signature, f.flags, f.address, f.place))
        self.assertIs(entry.keep_alive, f)
        again = typedcall.resolve(f, "d->d")
        self.assertEqual((again(-2.0), again.address), (2.0, f.address))
        with self.assertRaisesRegex(TypeError, "does not offer 'l->l'; it offers 'd->d'"):
            typedcall.resolve(f, "l->l")

    @support.ON_CPYTHON
    def test_what_was_resolved_of_a_method_offers_nothing(self):
        # `self` would be the TypedFunction.
        for method in (typed.Scaler(2.0).scale, typed.Scaler.scale):
            f = typedcall.resolve(method, "d->d")
            self.assertTrue(f.flags & Flags.TAKES_SELF)
            self.assertEqual(typedcall.entries(f), [])
            self.assertEqual(typedcall.publish(f), [])
            with self.assertRaises(TypeError):
                typedcall.resolve(f, "d->d")
            with self.assertRaises(TypeError):
                typedcall.tag(lambda x: x, "d->d", f)

    def test_only_the_very_types_are_known(self):
        for name in ("TypedFunction", "PyCapsule", "CFuncPtr"):
            made = type(name, (), {"__module__": "builtins", "callable": len,
                                   "__call__": lambda self: None})()
            self.assertEqual(typedcall.entries(made), [])
            with self.assertRaisesRegex(TypeError, "offers no typed function"):
                typedcall.ctypes_function(made)

    def test_a_null_character_is_refused(self):
        with self.assertRaises(ValueError):
            typedcall.resolve(typed.half, "d->d\0")

    def test_refusals_list_what_is_offered(self):
        with self.assertRaisesRegex(TypeError, "absolute does not offer 'i->i'; "
                                               "it offers 'l->l', 'd->d'"):
            typedcall.resolve(typed.absolute, "i->i")
        with self.assertRaisesRegex(TypeError, "it has no tag"):
            typedcall.resolve(len, "O->n")
        with self.assertRaisesRegex(TypeError, "it has no tag" if support.IS_PYPY else "it is a Python function"):
            typedcall.resolve(lambda x: x, "d->d")
        with self.assertRaisesRegex(TypeError, "is not callable"):
            typedcall.resolve(5, "d->d")

    def test_casting_must_be_known(self):
        with self.assertRaisesRegex(ValueError, "'exact', 'equivalent' or 'safe', not 'unsafe'"):
            typedcall.resolve(typed.half, "d->d", casting="unsafe")

    @support.ON_CPYTHON
    def test_capabilities(self):
        self.assertEqual(typedcall.resolve(typed.half, "d->d", capabilities=0)(3.0), 1.5)
        with self.assertRaisesRegex(TypeError, r"needs the GIL, may raise"):
            typedcall.resolve(typed.div, "dd->d", capabilities=0)
        with self.assertRaisesRegex(TypeError, r"\(may raise\)"):
            typedcall.resolve(typed.div, "dd->d", capabilities=Flags.NEEDS_THREAD)
        both = Flags.NEEDS_THREAD | Flags.MAY_RAISE
        self.assertEqual(typedcall.resolve(typed.div, "dd->d", capabilities=both)(1.0, 4.0), 0.25)
        with self.assertRaisesRegex(TypeError, "takes self"):
            typedcall.resolve(typed.Scaler(1.0).scale, "d->d", capabilities=both)

    @support.ON_CPYTHON
    def test_differs_must_be_asked_for(self):
        with self.assertRaisesRegex(TypeError, "differs from the Python callable"):
            typedcall.resolve(typed.half_long, "g->g")
        f = typedcall.resolve(typed.half_long, "g->g", capabilities=Flags.DIFFERS)
        self.assertEqual(f(5.0), 2.5)

    @support.ON_CPYTHON
    def test_no_instances_are_made_by_calling_the_type(self):
        with self.assertRaises(TypeError):
            typedcall.TypedFunction()
        with self.assertRaises(TypeError):
            object.__new__(typedcall.TypedFunction)


class Life(unittest.TestCase):
    @support.ON_CPYTHON
    def test_pickle_and_copy_ask_the_callable_again(self):
        for f in (typedcall.resolve(typed.inc, "q->q"),
                  typedcall.resolve(typed.half_long, "g->g", capabilities=Flags.DIFFERS)):
            for again in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
                self.assertEqual((again.signature, again.address), (f.signature, f.address))
                self.assertEqual(again(4), f(4))
        self.assertNotIn(b"%d" % f.address, pickle.dumps(f, 0))

    @support.ON_CPYTHON
    def test_a_resolved_method_keeps_its_object_alive(self):
        class Child(typed.Scaler):
            pass

        scaler = Child(3.0)
        gone = weakref.ref(scaler)
        f = typedcall.resolve(scaler.scale, "d->d")
        del scaler
        gc.collect()
        self.assertEqual(f(2.0), 6.0)
        self.assertIsNotNone(gone())
        del f
        gc.collect()
        self.assertIsNone(gone())

    @support.ON_CPYTHON
    def test_cycles_are_collected(self):
        class Child(typed.Scaler):
            pass

        scaler = Child(3.0)
        scaler.resolved = typedcall.resolve(scaler.scale, "d->d")
        gone = weakref.ref(scaler.resolved)
        del scaler
        gc.collect()
        self.assertIsNone(gone())


@support.ON_CPYTHON
class TheExtensionModule(unittest.TestCase):
    def test_one_that_was_made_but_not_executed(self):
        made = importlib.util.module_from_spec(_native.__spec__)
        for call in (lambda: made.entries(len), lambda: made.find(len, "d->d", 0, "exact"),
                     lambda: made.tag(len, [], None), lambda: made.untag(len)):
            with self.assertRaisesRegex(RuntimeError, "the module has not been executed"):
                call()

    def test_wrong_arguments(self):
        rows = [("d->d", 0, 4096)]
        parts = (len, "d->d", 0, 4096, "place", None, "d->d", "exact")
        for at, wrong in enumerate(parts):
            if at not in (0, 5):  # parameters 0 and 5 accept any object
                with self.assertRaises(TypeError):
                    _native.make_function(*parts[:at], object(), *parts[at + 1:])
        for call in (lambda: _native.select(rows, 5, 0, "exact"),
                     lambda: _native.select(rows, "d->d", "0", "exact"),
                     lambda: _native.time_boxed(len, [()], 1),
                     lambda: _native.time_unboxed(len, (), 1),
                     lambda: _native.make_capsule(4096, "text"),
                     lambda: _native.array_callee(b"d->d", 4096)):
            with self.assertRaises(TypeError):
                call()
        for call in (lambda: _native.select(rows, "d->d", -1, "exact"),
                     lambda: _native.make_capsule(-1, b"name")):
            with self.assertRaises(OverflowError):
                call()


class PackageNames(unittest.TestCase):
    def test_every_public_name_is_there(self):
        for name in typedcall.__all__:
            self.assertIsNotNone(getattr(typedcall, name), name)
            self.assertIn(name, dir(typedcall))
        with self.assertRaisesRegex(AttributeError, "no attribute 'nonsense'"):
            typedcall.nonsense

    def test_importing_it_imports_no_library(self):
        code = ("import sys, typedcall; typedcall.entries(len); typedcall.entries(print)\n"
                "print([n for n in ('numpy', 'scipy', 'numba', 'cffi', 'rich') "
                "if n in sys.modules])")
        self.assertEqual(support.python("-c", code), (0, "[]\n", ""))

    def test_parse_signature(self):
        self.assertEqual(typedcall.parse_signature("dZd&n->&d"), (["d", "Zd", "&n"], "&d"))
        self.assertEqual(typedcall.parse_signature("->v"), ([], "v"))
        self.assertEqual(len(typedcall.parse_signature("d" * 127 + "->d")[0]), 127)
        for wrong in (5, None, b"d->d"):
            with self.assertRaisesRegex(TypeError, "a signature is a str"):
                typedcall.parse_signature(wrong)
        for text, position in (("", 0), ("d", 1), ("d->", 3), ("d->x", 3), ("d->dd", 4),
                               ("dv->d", 1), ("d-d", 2), ("Z->d", 1), ("&", 1),
                               ("d->d\0", 4), ("d" * 128 + "->d", 127)):
            with self.assertRaisesRegex(ValueError, "position %d:" % position, msg=text):
                typedcall.parse_signature(text)
