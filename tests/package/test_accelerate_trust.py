"""Tests which functions typedcall.accelerate calls without the GIL. They must be declared PURE or THREAD_SAFE by their
entry, their module or the caller's `trust=`."""
import pathlib
import pickle
import sys
import tempfile
import types
import unittest

import support
import typedcall
from accelerated import ON_PYPY, outcome
from typedcall import Entry, Flags
from typedcall.pypy import accelerate, restore, wrapper_of

NONSENSE = [
    (ValueError, "'inc' is not an effect.*a list of their names, trust=\\['inc'\\]", "inc"),
    (ValueError, "not an effect", ""),
    (ValueError, "not an effect", "THREAD_SAFE"),
    (ValueError, "not exactly a promise", Flags(0)),
    (ValueError, "not exactly a promise", Flags.PURE | Flags.MAY_RAISE),
    (ValueError, "not exactly a promise", Flags.NEEDS_THREAD),
    (TypeError, "not a 'bool'", True),
    (TypeError, "not a 'int'", 1),
    (TypeError, "not a 'float'", 1.5),
    (TypeError, "not a 'object'", object()),
    (TypeError, "not a 'dict'", {"inc": "pure"}),
    (TypeError, "not a 'bytes'", b"thread_safe"),
    (TypeError, "1 is none", [1]),
    (TypeError, "None is none", ["inc", None]),
]


class OnEveryInterpreter(unittest.TestCase):
    def test_nonsense(self):
        module = support.build("pypy_functions")
        before = dict(vars(module))
        for error, text, trust in NONSENSE:
            with self.subTest(trust=trust):
                with self.assertRaisesRegex(error, text):
                    accelerate(module, trust=trust)
                with self.assertRaisesRegex(error, text):
                    typedcall.accelerate_imports("nothing_of_this_name", trust=trust)
        self.assertEqual(before, vars(module))
        self.assertFalse([each for each in sys.meta_path if "nothing_of_this" in repr(each)])

    def test_an_exception_of_the_list_comes_out(self):
        def names():
            yield "inc"
            raise LookupError("no more")

        with self.assertRaisesRegex(LookupError, "no more"):
            accelerate(support.build("pypy_functions"), trust=names())

    def test_hooks_take_no_names(self):
        with self.assertRaisesRegex(TypeError, "names are one module's"):
            typedcall.accelerate_imports("nothing_of_this_name", trust=["inc"])

    def test_what_an_entry_says_itself_stands(self):
        raises = Flags.MAY_RAISE | Flags.NEEDS_THREAD
        for place, flags, expected in (
            ("PyPy metadata", Flags.NEEDS_THREAD, Flags.PURE),
            ("PyPy metadata", raises, raises | Flags.PURE),
            ("method metadata", Flags.NEEDS_THREAD, Flags.NEEDS_THREAD | Flags.PURE),
            ("method metadata", Flags.SHORT, Flags.SHORT | Flags.PURE),
        ):
            entry = Entry("l->l", flags, 4096, place, None)
            self.assertEqual(entry.with_effects(Flags.PURE).flags, expected)
            self.assertIs(entry.with_effects(Flags(0)), entry)


class Restored(unittest.TestCase):
    """A base class for tests with two modules, which are restored after each test."""

    def setUp(self):
        self.bare = support.build("seed_functions")
        self.counting = support.build("pypy_functions")
        for module in (self.bare, self.counting):
            restore(module)
            self.addCleanup(restore, module)
        self.boxed, self.boxed_counting = dict(vars(self.bare)), dict(vars(self.counting))

    def natively(self, name, *args):
        """Returns true if the call is a native call."""
        counts = self.boxed_counting["counts"]
        native, boxed = counts()
        outcome(getattr(self.counting, name), args)
        return tuple(now - then for now, then in zip(counts(), (native, boxed))) == (1, 0)


@ON_PYPY
class Trust(Restored):
    def test_usually_nobody_is_trusted(self):
        done = accelerate(self.bare)
        self.assertFalse(done)
        self.assertEqual(done.untrusted, ["inc", "half", "pypy", "heap"])
        self.assertEqual(set(done.refused), set(done.untrusted))
        for reason in done.refused.values():
            self.assertIn('nothing says that it needs no GIL; trust="thread_safe"', reason)
        self.assertIn("trust=['inc', 'half', 'pypy', 'heap'] includes more functions", str(done))
        self.assertEqual(dict(vars(self.bare)), self.boxed)
        counting = accelerate(self.counting)
        self.assertEqual(counting.untrusted, ["nothing", "none", "bare"])
        self.assertIn("inc", counting.accelerated)
        self.assertFalse(self.natively("none"))

    def test_all_of_the_module(self):
        for word in ("thread_safe", "pure", Flags.THREAD_SAFE, Flags.PURE, Flags.PURE | Flags.THREAD_SAFE):
            with self.subTest(word):
                done = accelerate(self.bare, trust=word)
                self.assertEqual(done.accelerated, ["inc", "half", "pypy", "heap"])
                self.assertEqual(done.trusted, done.accelerated)
                self.assertEqual((done.untrusted, done.refused), ([], {}))
                for name, values in (("inc", (41, -1, True, 2**63, 1.5, "x")), ("half", (3.0, 3, "x")),
                                     ("pypy", (1, -2)), ("heap", (2**62, 2**64))):
                    for value in values:
                        self.assertEqual(outcome(getattr(self.bare, name), (value,)),
                                         outcome(self.boxed[name], (value,)), (name, value))
                self.assertEqual(restore(self.bare), done.accelerated)

    def test_by_name(self):
        for names in (["half"], ("half",), {"half"}, iter(["half"]), dict.fromkeys(["half"]).keys()):
            done = accelerate(self.bare, trust=names)
            self.assertEqual((done.accelerated, done.trusted), (["half"], ["half"]))
            self.assertEqual(done.untrusted, ["inc", "pypy", "heap"])
            self.assertEqual(self.bare.half(3.0), 1.5)
            restore(self.bare)
        self.assertFalse(accelerate(self.bare, trust=[]))

    def test_the_result_says_what_to_trust(self):
        done = accelerate(self.counting)
        again = accelerate(self.counting, trust=done.untrusted)
        self.assertEqual(again.trusted, done.untrusted)
        self.assertEqual(again.untrusted, [])
        self.assertTrue(self.natively("none"))
        self.assertNotIn("includes more functions", str(again))

    def test_names_that_nothing_has(self):
        for name in ("unknown", "counts", "Inc", ""):
            with self.assertRaisesRegex(ValueError, "%r.*typed functions of seed_functions are: inc, half" % name):
                accelerate(self.bare, trust=["inc", name])
        self.assertEqual(dict(vars(self.bare)), self.boxed)
        with self.assertRaisesRegex(ValueError, "of math are: it has none"):
            import math

            accelerate(math, trust=["sin"])

    def test_what_may_raise_is_not_let_in(self):
        typed = support.build("typed_functions")
        restore(typed)
        self.addCleanup(restore, typed)
        done = accelerate(typed, trust="thread_safe")
        for name, reason in (("div", "needs the GIL, may raise"), ("invert", "returns a status"),
                             ("same_object", "needs the GIL")):
            self.assertIn(reason, done.refused[name])
        self.assertIs(wrapper_of(typed.div), None)
        done = accelerate(self.counting, trust=["raises", "inc"])
        self.assertIn("returns a status", done.refused["raises"])
        self.assertEqual(done.trusted, [], "inc needs no trust")

    def test_it_lasts_until_restore(self):
        accelerate(self.bare, trust=["inc"])
        shim = self.bare.inc
        done = accelerate(self.bare)
        self.assertEqual((done.accelerated, done.trusted), (["inc"], ["inc"]))
        self.assertIs(self.bare.inc, shim)
        self.assertIs(pickle.loads(pickle.dumps(shim)), shim)
        restore(self.bare)
        self.assertFalse(accelerate(self.bare))

    def test_entries_say_what_they_said(self):
        accelerate(self.bare, trust="thread_safe")
        (entry,) = typedcall.entries(self.bare.inc)
        self.assertEqual((entry.flags, entry.place), (Flags.NEEDS_THREAD, "PyPy metadata"))
        with self.assertRaisesRegex(TypeError, "needs the GIL"):
            typedcall.resolve(self.bare.inc, "l->l")

    def test_an_overload_of_which_nothing_is_said(self):
        plain = support.build("plain_functions")
        typedcall.tag(plain.half, ("d->d", "l->l"), (plain.addresses["half_differs"], plain.addresses["inc"]),
                      flags=(Flags.PURE, 0))
        boxed = plain.half
        self.addCleanup(setattr, plain, "half", boxed)
        self.addCleanup(typedcall.untag, boxed)
        done = accelerate(plain)
        self.assertEqual((done.accelerated, done.untrusted, done.refused), (["half"], ["half"], {}))
        self.assertEqual((plain.half(2.0), plain.half(2)), (1001.0, boxed(2)))
        done = accelerate(plain, trust=["half"])
        self.assertEqual((done.untrusted, done.trusted), ([], ["half"]))
        self.assertEqual((plain.half(2.0), plain.half(2)), (1001.0, 3))

    def test_import_hooks(self):
        name = "seed_functions"
        before = sys.modules.pop(name)
        self.addCleanup(sys.modules.__setitem__, name, before)
        sys.path.insert(0, support.module_folder(name))
        self.addCleanup(sys.path.pop, 0)
        with typedcall.accelerate_imports(name, trust="thread_safe") as hook:
            module = __import__(name)
        self.assertEqual(hook.results[name].trusted, ["inc", "half", "pypy", "heap"])
        self.assertIsNotNone(wrapper_of(module.inc))
        restore(module)


@ON_PYPY
class Modules(Restored):
    """Declarations that a module makes for all its functions."""

    def test_by_an_attribute(self):
        self.addCleanup(vars(self.bare).pop, "__typedcall_effects__", None)
        for said, accelerated in (("thread_safe", 4), ("pure", 4), ("true", 0), (True, 0), (["inc"], 0), (None, 0)):
            self.bare.__typedcall_effects__ = said
            done = accelerate(self.bare)
            self.assertEqual(len(done.accelerated), accelerated, said)
            self.assertEqual(done.trusted, [])
            restore(self.bare)

    def test_a_package_that_has_them_from_it(self):
        self.addCleanup(vars(self.bare).pop, "__typedcall_effects__", None)
        package = types.ModuleType("a_package_of_these")
        package.inc, package.nothing = self.bare.inc, self.counting.nothing
        package.__typedcall_effects__ = "thread_safe"
        done = accelerate(package)
        self.assertEqual(done.accelerated, [], "it is not the one that has defined them")
        self.bare.__typedcall_effects__ = "thread_safe"
        done = accelerate(package)
        self.assertEqual((done.accelerated, done.untrusted), (["inc"], ["nothing"]))
        restore(package)

    def test_a_module_of_a_provider(self):
        source = """
            #include "typedcall/provider.h"
            static int calls = 0;
            int count(int x) noexcept { return __atomic_add_fetch(&calls, x, __ATOMIC_RELAXED); }
            static typedcall::method_table methods{typedcall::def<count>("count")};
            %s(said_by_module, "Counts.", methods);
        """
        for kind in ("TYPEDCALL_MODULE_WITHOUT_GIL", "TYPEDCALL_MODULE"):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "said_by_module.cc")
                path.write_text(source % kind)
                module = support.load("said_by_module", support.compile_module(path, folder))
            del sys.modules["said_by_module"]
            done = accelerate(module)
            is_said = kind.endswith("GIL")
            self.assertEqual(done.accelerated, ["count"] * is_said)
            self.assertEqual(done.untrusted, ["count"] * (not is_said))
            self.assertEqual((module.count(2), module.count(True)), (2, 3))


@ON_PYPY  # CPython does not extend such rows
class Tags(Restored):
    """tag() adds flags to a row in PyPy's layout."""

    def setUp(self):
        super().setUp()
        self.inc = self.boxed["inc"]
        self.addCleanup(typedcall.untag, self.inc)
        self.at = typedcall.entries(self.inc)[0].address

    def test_by_itself_and_by_address(self):
        for pointer in (self.inc, self.at):
            for flags in (Flags.PURE, Flags.THREAD_SAFE, Flags.PURE | Flags.THREAD_SAFE | Flags.SHORT):
                typedcall.tag(self.inc, "l->l", pointer, flags=flags)
                typedcall.tag(self.inc, "l->l", pointer, flags=flags)
                (entry,) = typedcall.entries(self.inc)
                self.assertEqual((entry.flags, entry.place), (flags, "object row"))
                self.assertEqual(typedcall.resolve(self.inc, "l->l")(41), 42)
                done = accelerate(self.bare)
                self.assertEqual((done.accelerated, done.trusted), (["inc"], []))
                self.assertEqual(self.bare.inc(41), 42)
                restore(self.bare)
                self.assertTrue(typedcall.untag(self.inc))
                (entry,) = typedcall.entries(self.inc)
                self.assertEqual((entry.flags, entry.place), (Flags.NEEDS_THREAD, "PyPy metadata"))

    def test_pure_but_with_the_gil(self):
        flags = Flags.PURE | Flags.NEEDS_THREAD
        typedcall.tag(self.inc, "l->l", self.inc, flags=flags)
        self.assertEqual(typedcall.entries(self.inc)[0].flags, flags)
        self.assertEqual(accelerate(self.bare).accelerated, [])

    def test_what_is_a_conflict_still(self):
        other = typedcall.entries(self.boxed["half"])[0].address
        for signature, address, flags in (
            ("l->l", self.at, 0), ("l->l", self.at, Flags.SHORT), ("l->l", other, Flags.PURE),
            ("q->q", self.at, Flags.PURE), ("l->l", self.at, Flags.PURE | Flags.SETS_ERRNO),
            ("l->l", self.at, Flags.PURE | Flags.MAY_RAISE | Flags.NEEDS_THREAD),
        ):
            with self.subTest(signature, flags=flags):
                with self.assertRaisesRegex(ValueError, "inc is tagged already"):
                    typedcall.tag(self.inc, signature, address, flags=flags)
                self.assertEqual(typedcall.entries(self.inc)[0].place, "PyPy metadata")
        typedcall.tag(self.inc, "l->l", self.inc)  # the function's own declaration
        self.assertEqual(typedcall.entries(self.inc)[0].flags, Flags.NEEDS_THREAD)
        typedcall.tag(self.inc, "l->l", self.inc, flags=Flags.PURE)
        with self.assertRaisesRegex(ValueError, "inc is tagged already"):
            typedcall.tag(self.inc, "l->l", self.inc, flags=Flags.THREAD_SAFE)

    def test_another_function_is_told_of_it(self):
        def plus_one(x):
            return x + 1

        typedcall.tag(plus_one, "l->l", self.inc, flags=Flags.PURE)
        self.assertEqual(typedcall.entries(plus_one)[0].flags, Flags.PURE)
        self.assertEqual(typedcall.entries(self.inc)[0].flags, Flags.NEEDS_THREAD)

    def test_overloads_beside_it(self):
        typedcall.tag(self.inc, "l->l", self.inc, flags=Flags.PURE)
        half = typedcall.entries(self.boxed["half"])[0].address
        typedcall.add_overloads(self.inc, "d->d", half, flags=Flags.PURE)
        self.assertEqual(typedcall.signatures(self.inc), ["l->l", "d->d"])
        self.assertEqual(typedcall.resolve(self.inc, "d->d")(3.0), 1.5)
