"""Tests signatures(), entries() and resolve() on PyPy."""
import copy
import pickle
import types

import typedcall
from accelerated import ON_PYPY, Accelerated, Index, Real, outcome
from typedcall import Flags

SIMPLE = Flags.PURE | Flags.THREAD_SAFE | Flags.SHORT


@ON_PYPY
class Entries(Accelerated):
    def test_of_an_original_and_of_its_accelerated_function(self):
        for function in (self.boxed["inc"], self.functions.inc):
            (entry,) = typedcall.entries(function)
            self.assertEqual((entry.signature, entry.flags, entry.place),
                             ("l->l", SIMPLE, "method metadata"))
            self.assertIs(entry.keep_alive, self.boxed["inc"])
        self.assertEqual(typedcall.signatures(self.functions.absolute), ["l->l", "d->d"])
        self.assertEqual(typedcall.signatures(self.functions.div), ["dd->d"])
        self.assertEqual(typedcall.signatures(self.functions.Scaler.scale), ["d->d"])
        self.assertEqual(typedcall.signatures(self.functions.Scaler(2.0).scale), ["d->d"])


@ON_PYPY
class Resolve(Accelerated):
    def test_what_it_says(self):
        for given in (self.boxed["inc"], self.functions.inc):
            f = typedcall.resolve(given, "l->l")
            self.assertIsInstance(f, typedcall.TypedFunction)
            (entry,) = typedcall.entries(given)
            self.assertEqual((f.signature, f.flags, f.address, f.place),
                             ("l->l", SIMPLE, entry.address, "method metadata"))
            self.assertIs(f.callable, given)
            self.assertEqual(f.__name__, "inc")
            self.assertIn("inc 'l->l'", repr(f))
            self.assertEqual(f.pointer(41), 42)

    def test_calls_do_not_go_through_the_wrapper(self):
        f = typedcall.resolve(self.counting.mix, "dldl->d")
        self.assertEqual(f(1.5, 2, 2.5, 3), 10.5)
        self.assertEqual(self.calls(f, 1.5, 2, 2.5, 3), (1, 0))
        self.assertEqual(self.calls(f, 1, True, Real(), Index()), (1, 0))
        self.assertEqual(self.calls(f.pointer, 1.5, 2, 2.5, 3), (1, 0))

    def test_subclasses_that_convert_themselves(self):
        own = {"__float__": lambda self: 9.0, "__index__": lambda self: 9, "__bool__": lambda self: False}
        for name, signature in (("half", "d->d"), ("half_float", "f->f"), ("inc", "l->l")):
            for base in (float, int, str):
                value = type("Own", (base,), own)("1")
                self.assertEqual(outcome(typedcall.resolve(getattr(self.functions, name), signature), (value,)),
                                 outcome(self.boxed[name], (value,)), (name, base))

    def test_nothing_is_converted(self):
        with self.assertRaises(TypeError):
            typedcall.resolve(self.functions.inc, "i->i", casting="safe")

    def test_what_a_cffi_call_cannot_do(self):
        scale = self.functions.Scaler(2.0).scale
        for function, signature, reason in (
            (self.functions.div, "dd->d", "needs the GIL, may raise"),
            (self.functions.invert, "d&d->i", "returns a status"),
            (scale, "d->d", "takes self"),
            (self.functions.turn, "Zd->Zd", "Complex"),
            (self.functions.same_text, "s->s", r"const char \*"),
            (self.functions.same_object, "O->O", "needs the GIL, may raise"),
        ):
            with self.assertRaisesRegex(TypeError, "(?i)does not offer .*" + reason):
                typedcall.resolve(function, signature)

    def test_long_names_are_cut(self):
        made = types.SimpleNamespace(__name__="n" * 10**6, signature="d->d", _reason="why", address=1)
        with self.assertRaisesRegex(TypeError, "^n.*can only be called boxed") as caught:
            typedcall.TypedFunction._refuse(made)
        for said in (str(caught.exception), typedcall.TypedFunction.__repr__(made)):
            self.assertLess(len(said), 500)

    def test_capabilities_are_for_the_address(self):
        both = Flags.MAY_RAISE | Flags.NEEDS_THREAD
        with self.assertRaisesRegex(TypeError, r"\(may raise\)"):
            typedcall.resolve(self.functions.div, "dd->d", capabilities=Flags.NEEDS_THREAD)
        f = typedcall.resolve(self.functions.div, "dd->d", capabilities=both)
        self.assertEqual(f.address, typedcall.entries(self.functions.div)[0].address)
        self.assertIsNone(f.pointer)
        with self.assertRaisesRegex(TypeError, "can only be called boxed"):
            f(1.0, 0.0)
        self.assertEqual(typedcall.resolve(self.functions.inc, "l->l", capabilities=0)(1), 2)

    def test_why_the_others_would_not_do(self):
        with self.assertRaisesRegex(TypeError, r"it offers 'dd->d' \(needs the GIL, may raise\)"):
            typedcall.resolve(self.functions.div, "d->d")

    def test_pickle_and_copy(self):
        asked_for = typedcall.resolve(self.functions.inc, "q->q")
        _, place, *question = asked_for.__reduce__()[1]
        self.assertEqual(place[:2], ("typed_functions", "inc"))
        self.assertEqual(question, ["q->q", None, "equivalent"])
        f = typedcall.resolve(self.functions.inc, "l->l")
        for again in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
            self.assertEqual((again.signature, again.address, again(4)), ("l->l", f.address, 5))
        self.assertNotIn(b"%d" % f.address, pickle.dumps(f, 0))


@ON_PYPY
class CPythonOnly(Accelerated):
    def test_one_line_says_so(self):
        for call in (
            lambda: typedcall.low_level_callable(self.functions.half),
            lambda: typedcall.export_to_cython(self.functions),
            lambda: typedcall.ufunc(self.functions.half),
        ):
            with self.assertRaisesRegex(ImportError, r"\ACPython only: .*\Z"):
                call()
        self.assertFalse(hasattr(self.functions, "__pyx_capi__"))

    def test_capsules_are_not_read(self):
        class PyCapsule:
            pass

        PyCapsule.__module__ = "builtins"  # PyCapsule looks like a class of an extension module
        self.assertEqual(typedcall.entries(PyCapsule()), [])
        with self.assertRaisesRegex(TypeError, "holds no address of a C function"):
            typedcall.tag(lambda x: x, "d->d", PyCapsule())
