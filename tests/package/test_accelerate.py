"""Tests typedcall.accelerate on PyPy: replaced functions have the wrapper's results and exceptions. On CPython nothing
is replaced."""
import types
import unittest

import support
from accelerated import ON_PYPY, Accelerated, Index, Real, outcome
from typedcall import Entry, Flags
from typedcall.pypy import Acceleration, accelerate, restore, wrapper_of

if support.IS_PYPY:
    from typedcall.pypy.pointers import why_not
    from typedcall.pypy.shims import _choices


class Int(int):
    """A subclass of int."""


class Float(float):
    """A subclass of float."""


class Rude:
    def __index__(self):
        raise LookupError("no index")

    def __float__(self):
        raise LookupError("no float")

    def __bool__(self):
        raise LookupError("no truth")


VALUES = [
    0, 1, -1, 5, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 2**31 - 1, 2**31,
    -(2**31), -(2**31) - 1, 2**53 + 1, 2**60, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1,
    2**64 - 1, 2**64, -(2**64), 2**80, 10**400, -(10**400), True, False, Int(3), Int(2**70),
    0.0, -0.0, 1.5, -2.5, 1e300, float("inf"), float("-inf"), float("nan"), Float(4.5), 1j,
    None, "3", b"3", [], [1], (), {}, Index(), Real(), Rude(), object(), int, len,
]


class OnEveryInterpreter(unittest.TestCase):
    def test_modules_only(self):
        for other in (None, "math", len, object()):
            for function in (accelerate, restore):
                with self.assertRaisesRegex(TypeError, "a module is needed"):
                    function(other)

    def test_module_without_typed_functions(self):
        import math

        before = dict(vars(math))
        done = accelerate(math)
        self.assertEqual(done.accelerated, [])
        self.assertEqual(done.refused, {})
        self.assertFalse(done)
        self.assertEqual(restore(math), [])
        self.assertEqual({k: id(v) for k, v in before.items()},
                         {k: id(v) for k, v in vars(math).items()})

    @support.ON_CPYTHON  # on PyPy, accelerate() replaces functions
    def test_cpython_installs_nothing(self):
        module = support.build("pypy_functions")
        before = dict(vars(module))
        done = accelerate(module)
        self.assertIsInstance(done, Acceleration)
        self.assertFalse(done)
        self.assertEqual((done.module, done.accelerated), ("pypy_functions", []))
        self.assertIn("nothing is installed", done.reason)
        self.assertIn("nothing is installed", str(done))
        self.assertEqual(before, vars(module))
        self.assertEqual(restore(module), [])


@ON_PYPY
class Results(Accelerated):
    """Results of C functions with hand-written wrappers."""

    def check(self, name, args, keywords=None, boxed=None, module=None):
        boxed = boxed or self.boxed
        module = module or self.functions
        self.assertEqual(outcome(getattr(module, name), args, keywords),
                         outcome(boxed[name], args, keywords), (name, args, keywords))

    def test_one_argument_of_wrappers_by_hand(self):
        for name in ("inc", "narrow", "byte", "big", "longer", "single", "truth", "nothing", "size",
                     "raises", "object"):
            for value in VALUES:
                self.check(name, (value,), None, self.boxed_counting, self.counting)

    def test_two_arguments(self):
        for one in VALUES:
            for other in (0, 2**31, 1.0, True, None):
                self.check("two_ints", (one, other), None, self.boxed_counting, self.counting)
                self.check("size", (other, one), None, self.boxed_counting, self.counting)

    def test_more_arguments(self):
        for position in range(4):
            for value in VALUES:
                args = [1.5, 2, 2.5, 3]
                args[position] = value
                self.check("mix", args, None, self.boxed_counting, self.counting)
        self.check("ten", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9, 0.5])

    def test_overloads_for_other_types_that_come_first(self):
        # Both overloads of two_kinds fit equally well, so the first is chosen.
        module = support.build("narrow_functions")
        wrapper = module.two_kinds
        self.addCleanup(restore, module)
        self.assertIn("two_kinds", accelerate(module).accelerated)
        for args in ((True, 2.5), (False, -0.0), (3, 2.5), (True, 3)):
            self.assertEqual(module.two_kinds(*args), wrapper(*args), args)

    def test_keywords(self):
        for keywords in ({}, {"c": 2.0}, {"c": 2.0, "d": 5}, {"d": "x"}, {"e": 1}):
            self.check("mix", (1.5, 2), keywords, self.boxed_counting, self.counting)
        # Python raises this error, because the replacement is a Python function.
        with self.assertRaisesRegex(TypeError, r"mix\(\) got multiple values for argument 'a'"):
            self.counting.mix(1.5, 2, a=1)

    def test_static_method(self):
        scaler = self.functions.Scaler
        self.assertIn("Scaler.twice", self.done.accelerated)
        for value in VALUES:
            raw = wrapper_of(scaler.twice)
            self.assertIsNotNone(raw)
            self.assertEqual(outcome(scaler.twice, (value,)), outcome(raw, (value,)), value)
        self.assertEqual(scaler.__dict__["twice"].__func__, scaler.twice)
        self.assertEqual(restore(self.functions).count("Scaler.twice"), 1)
        self.assertIs(scaler.twice, raw)

    def test_objects_that_raise_beside_the_functions(self):
        class Lazy:
            """A module attribute that cannot be evaluated yet."""

            def fail(self, *unused):
                raise LookupError("not now")

            __class__ = property(fail)
            __hash__ = __eq__ = __bool__ = __call__ = fail

        module = types.ModuleType("beside")
        module.lazy, module.inc = Lazy(), self.boxed["inc"]
        self.assertEqual(accelerate(module).accelerated, ["inc"])
        self.assertEqual(restore(module), ["inc"])

    def test_methods_with_self_stay(self):
        self.assertNotIn("Scaler.scale", self.done.accelerated)
        self.assertIsNone(wrapper_of(self.functions.Scaler.__dict__["scale"]))


@ON_PYPY
class Routes(Accelerated):
    """Tests whether a call reaches the C function or the wrapper."""

    def test_exact_types_are_called_natively(self):
        module = self.counting
        for function, args in (
            (module.inc, (3,)),
            (module.add, (1.0, 2.0)),
            (module.mix, (1.0, 2, 3.0, 4)),
            (module.narrow, (-32768,)),
            (module.byte, (255,)),
            (module.big, (2**64 - 1,)),
            (module.longer, (-(2**63),)),
            (module.two_ints, (1, 2)),
            (module.single, (0.5,)),
            (module.truth, (True,)),
            (module.nothing, (0,)),
            (module.none, ()),
            (module.size, (1,)),
            (module.size, (1.0,)),
            (module.size, (1.0, 1)),
        ):
            with self.subTest(function=function, args=args):
                self.assertEqual(self.calls(function, *args), (1, 0))
        # mix() has a text signature with names and defaults.
        self.assertEqual(self.calls(module.mix, 1.0, 2), (1, 0))
        self.assertEqual(self.calls(module.mix, a=1.0, b=2, c=3.0, d=4), (1, 0))

    def test_everything_else_is_boxed(self):
        module = self.counting
        for function, args in (
            (module.inc, (True,)),
            (module.inc, (Int(3),)),
            (module.inc, (2**63,)),
            (module.inc, (1.5,)),
            (module.add, (1, 2.0)),
            (module.add, (Float(1), 2.0)),
            (module.narrow, (32768,)),
            (module.byte, (-1,)),
            (module.big, (-1,)),
            (module.truth, (1,)),
            (module.two_ints, (2**31, 0)),
            (module.two_ints, (0, 2**31)),
            (module.raises, (1,)),
            (module.object, (1,)),
            (module.size, (True,)),
            (module.size, (2**63,)),
            (module.none, (1,)),
        ):
            with self.subTest(function=function, args=args):
                self.assertEqual(self.calls(function, *args)[1], function is not module.none)
                self.assertLessEqual(self.calls(function, *args)[0], 0)
        self.assertEqual(self.calls(module.mix, a=1.0, b=2, c=3, d=4), (0, 1))

    def test_the_jit_changes_nothing(self):
        module = self.counting
        total = 0
        for i in range(5000):
            total = module.inc(total)
            if i % 1000 == 999:
                total = module.inc(True) + total - 2
                with self.assertRaises(OverflowError):
                    module.inc(2**63)
        self.assertEqual(total, 5000)
        self.assertEqual(self.calls(module.inc, 1), (1, 0))

    def test_which_entries_are_called(self):
        def natively(*entries):
            made = [
                Entry(each.strip("!"), Flags.MAY_RAISE | Flags.NEEDS_THREAD if "!" in each
                      else Flags(0), 4096, "", None)
                for each in entries
            ]
            return [choice.entry.signature for choice in _choices(made) if choice.usable]

        self.assertEqual(natively("l->l", "d->d"), ["l->l", "d->d"])
        self.assertEqual(natively("i->i", "l->l"), ["i->i"])  # only the wrapper can choose the other overload
        self.assertEqual(natively("i->i!", "l->l"), [])  # an int needs the first overload
        # A float is always passed as a double, because the wrapper does not round it to a C float.
        self.assertEqual(natively("f->l", "d->l"), ["d->l"])
        self.assertEqual(natively("d->l", "f->l"), ["d->l"])
        self.assertEqual(natively("f->l", "d->l!"), [])
        self.assertEqual(natively("ff->l", "fd->l", "df->l"), ["fd->l"])
        self.assertEqual(natively("ffd->l", "dff->l", "fdd->l"), ["dff->l"])
        self.assertEqual(natively("l->l", "O->O!", "ll->l"), ["ll->l"])
        self.assertEqual(natively("l->l", "O->O!", "ll->l", "lO->l!", "->l"), ["->l"])
        self.assertEqual(natively("Zd->Zd", "s->s", "&d->d", "P->P", "g->g", "?->?"), ["?->?"])

    def test_flags_that_are_not_known(self):
        for flags in (0x0200, 0x8000, 0x01000000):
            self.assertEqual(why_not(Entry("l->l", Flags(flags), 4096, "", None)),
                             "flags not understood")
        self.assertIsNone(why_not(Entry("l->l", Flags(0x00FF0000), 4096, "", None)))

    def test_exact_overload_wins(self):
        # The entry for a double comes first.
        self.assertEqual(repr(self.counting.size(3)), "103")
        self.assertEqual(repr(self.counting.size(3.0)), "203.0")
        self.assertEqual(repr(self.functions.absolute(-3)), "3")
        self.assertEqual(repr(self.functions.absolute(-3.0)), "3.0")
