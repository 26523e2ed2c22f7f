"""Tests the functions of Cython modules as typed functions, and typed functions in Cython code."""

import importlib.util
import json
import math
import sys
import types
import unittest

import adapter_support
import support
import typedcall
from typedcall import Flags

adapter_support.library("Cython")
functions = support.build("typed_functions")
USUAL = Flags.NEEDS_THREAD | Flags.MAY_RAISE
UNKNOWN = USUAL | Flags.DIFFERS


def resolve(function, signature):
    """Resolves for a caller that can handle functions of unknown behaviour."""
    return typedcall.resolve(function, signature, capabilities=UNKNOWN)


def setUpModule():
    global exports
    made = adapter_support.compile_pyx(support.MODULES / "cython_functions.pyx",
                                       support.temporary(unittest.addModuleCleanup))
    exports = support.load("cython_functions", made)


class Source(unittest.TestCase):
    def test_a_cpdef_function(self):
        (entry,) = typedcall.entries(exports.scale)
        self.assertEqual((entry.signature, entry.place), ("di->d", "Cython"))
        # The capsule's name does not show noexcept or nogil.
        self.assertEqual(entry.flags, UNKNOWN)
        self.assertEqual(resolve(exports.scale, "di->d")(1.5, 4), 6.0)
        for capabilities in (None, 0, USUAL):
            with self.assertRaisesRegex(TypeError, "differs from the Python callable"):
                typedcall.resolve(exports.scale, "di->d", capabilities=capabilities)

    def test_exceptions(self):
        checked = resolve(exports.checked, "l->l")
        self.assertEqual((checked(-1), checked(5)), (-1, 5))
        with self.assertRaisesRegex(ValueError, "thirteen"):
            checked(13)

    def test_only_who_asks_gets_functions_of_unknown_error_values(self):
        for function, signature in ((exports.by_five, "l->l"), (exports.by_two, "d->d")):
            self.assertEqual(typedcall.entries(function)[0].flags, UNKNOWN)
            with self.assertRaises(TypeError):
                typedcall.resolve(function, signature)
            self.assertEqual(resolve(function, signature)(3), 3)
            sinks = [typedcall.ctypes_function]
            if importlib.util.find_spec("_cffi_backend") is not None:
                sinks.append(typedcall.cffi_function)
            for made in sinks:
                with self.assertRaisesRegex(TypeError, "differs"):
                    made(function)
        # C consumers cannot resolve the function either.
        self.assertEqual(typedcall.publish(exports.by_five), ["l->l"])
        self.addCleanup(typedcall.untag, exports.by_five)
        with self.assertRaises(TypeError):
            typedcall.resolve(exports.by_five, "l->l")

    def test_objects_of_a_type_that_the_capsule_does_not_show(self):
        # In a signature, a list is any object. Only the Python function checks for a list.
        for function, signature in ((exports.first, "O->O"), (exports.same, "O->O"), (exports.x_of, "P->d"),
                                    (exports.moved, "d->P")):
            (entry,) = typedcall.entries(function)
            self.assertEqual((entry.signature, entry.flags), (signature, UNKNOWN))
            with self.assertRaisesRegex(TypeError, "differs from the Python callable"):
                typedcall.resolve(function, signature)
        self.assertEqual(resolve(exports.first, "O->O")([7]), 7)
        self.assertIs(resolve(exports.same, "O->O")(self), self)
        capsule = exports.__pyx_capi__["first_in_c"]
        self.assertEqual(typedcall.entries(capsule)[0].flags, UNKNOWN)

    def test_a_result_is_an_object_whatever_its_type(self):
        # In Cython, NULL is the only error value for objects.
        self.assertEqual(typedcall.entries(exports.made)[0].flags, USUAL)
        self.assertEqual(typedcall.resolve(exports.made, "l->O")(3), [3])

    def test_fused_functions_are_overloads(self):
        self.assertEqual(typedcall.signatures(exports.twice), ["l->l", "d->d"])
        self.assertEqual(resolve(exports.twice, "d->d")(1.25), 2.5)
        self.assertEqual(resolve(exports.twice, "l->l")(21), 42)
        variant = exports.twice["double"]
        self.assertEqual(typedcall.signatures(variant), ["d->d"])

    def test_a_result_that_could_not_report_an_exception_is_not_offered(self):
        self.assertEqual(typedcall.signatures(exports.turn), [])
        self.assertEqual(typedcall.signatures(exports.nothing), [])

    def test_long_long(self):
        """Cython spells `long long` as a macro."""
        for function, signature, value, result in ((exports.first_of_all, "Q->Q", 3298534883328, 3145728),
                                                   (exports.second, "q->q", -2**63, -2**63)):
            self.assertEqual(typedcall.signatures(function), [signature])
            self.assertEqual(function(value), result)
            self.assertEqual(resolve(function, signature)(value), result)

    def test_a_word_of_a_capsule_that_is_no_type_is_no_name(self):
        capsule = typedcall.record.capsules.make_capsule
        for text in ("unsigned word (double)", "double (unsigned word)", "double (unsigned word, int __pyx_skip_dispatch)",
                     "double (long double word)", "double word (double)", "double (int *word)"):
            self.assertEqual(typedcall.signatures(capsule(4096, text)), [], text)

    def test_optional_arguments_are_shown(self):
        self.assertEqual(typedcall.signatures(exports.optional), ["diP->d"])
        self.assertEqual(resolve(exports.optional, "diP->d")(3.0, 0, None), 6.0)

    def test_capsules(self):
        capsules = exports.__pyx_capi__
        self.assertEqual(typedcall.signatures(capsules["only_in_c"]), ["&dn->d"])
        self.assertEqual(typedcall.signatures(capsules["scale"]), ["di->d"])
        other = typedcall.record.capsules.make_capsule(4096, "somebody.else")
        self.assertEqual(typedcall.signatures(other), [])
        self.assertEqual(
            typedcall.signatures(typedcall.record.capsules.make_capsule(4096, "struct x (int)")), []
        )

    def test_what_is_not_exported(self):
        self.assertEqual(typedcall.signatures(exports.not_exported), [])
        self.assertEqual(typedcall.signatures(exports), [])

    def test_a_function_under_anothers_name_is_not_taken_for_it(self):
        def scale(x, times):
            return 0

        scale.__module__ = exports.__name__
        self.assertEqual(typedcall.signatures(scale), [])


class Tagging(unittest.TestCase):
    def untag(self):
        names = "scale checked by_five by_two same first made x_of moved twice turn nothing optional "
        names += "first_of_all second is_odd from_bint text_of plain"
        for name in names.split():
            function = getattr(exports, name)
            for variant in getattr(function, "__signatures__", {}).values():
                typedcall.untag(variant)
            typedcall.untag(function)

    def setUp(self):
        self.addCleanup(self.untag)

    def test_one_call_tags_a_module(self):
        tagged = typedcall.tag_pyx_capi(exports)
        expected = ["by_five", "by_two", "checked", "first", "first_of_all", "from_bint", "is_odd", "made", "moved",
                    "optional", "plain", "same", "scale", "second", "text_of", "twice", "x_of"]
        self.assertEqual(tagged, expected)
        entry = typedcall.entries(exports.scale)[0]
        self.assertEqual((entry.signature, entry.flags), ("di->d", UNKNOWN))
        # Cython 0.29 makes builtin functions. Cython 3 has its own function type.
        self.assertIn(entry.place, ("def row", "object row"))
        self.assertEqual(typedcall.signatures(exports.twice), ["l->l", "d->d"])
        # A second call changes nothing.
        self.assertEqual(typedcall.tag_pyx_capi(exports.__name__), tagged)
        with self.assertRaisesRegex(TypeError, "differs from the Python callable"):
            typedcall.resolve(exports.checked, "l->l")

    def test_a_promise_about_error_values(self):
        self.assertIn("checked", typedcall.tag_pyx_capi(exports, flags=USUAL))
        self.assertEqual({entry.flags for entry in typedcall.entries(exports.twice)[:2]}, {USUAL})
        checked = typedcall.resolve(exports.checked, "l->l")
        self.assertEqual((checked(-1), checked(5)), (-1, 5))
        with self.assertRaisesRegex(ValueError, "thirteen"):
            checked(13)

    def test_a_promise(self):
        tagged = typedcall.tag_pyx_capi(exports, flags=int(Flags.THREAD_SAFE))
        self.assertIn("turn", tagged)
        self.assertEqual(typedcall.resolve(exports.turn, "Zd->Zd", capabilities=0)(2 + 1j), -1 + 2j)
        self.assertEqual(typedcall.entries(exports.made)[0].flags, Flags.NEEDS_THREAD)
        # The types of objects are still unknown.
        for function in (exports.same, exports.first, exports.x_of, exports.moved):
            self.assertTrue(typedcall.entries(function)[0].flags & Flags.DIFFERS)

    def test_a_promise_does_not_cover_what_a_capsule_does_not_show(self):
        """Python's conversions of `bint` and `char *` are not those of the signature."""
        self.assertIs(exports.is_odd(3), True)
        self.assertEqual((exports.from_bint(2), exports.text_of(b"abc")), (1, b"abc"))
        with self.assertRaises(TypeError):
            exports.text_of("abc")
        typedcall.tag_pyx_capi(exports, flags=0)
        for function, signature in ((exports.is_odd, "i->i"), (exports.from_bint, "i->l"), (exports.text_of, "s->s"),
                                    (exports.scale, "di->d")):
            (entry,) = typedcall.entries(function)[:1]
            self.assertEqual((entry.signature, entry.flags), (signature, Flags.DIFFERS))
            with self.assertRaisesRegex(TypeError, "differs from the Python callable"):
                typedcall.resolve(function, signature)
        self.assertEqual(typedcall.entries(exports.plain)[0].flags, 0)
        # An `int` that is no bint is promised for one function.
        address = typedcall.entries(exports.scale)[0].address
        typedcall.untag(exports.scale)
        typedcall.tag(exports.scale, "di->d", address)
        self.assertEqual(typedcall.resolve(exports.scale, "di->d", capabilities=0)(1.5, 4), 6.0)

    def test_why_nothing_was_tagged(self):
        capsule = typedcall.record.capsules.make_capsule
        module = types.ModuleType("exporting")
        module.structs = module.nothing = module.foreign = lambda x: x
        module.__pyx_capi__ = {
            "structs": capsule(4096, "struct x (int, int __pyx_skip_dispatch)"),
            "nothing": capsule(4096, "void (double, int __pyx_skip_dispatch)"),
            "foreign": capsule(4096, "double (double, int __pyx_skip_dispatch)"),
            "cdef": capsule(4096, "double (double)")}
        with self.assertRaises(TypeError) as raised:
            typedcall.tag_pyx_capi(module)
        self.assertEqual(str(raised.exception).split(": ", 1)[1].split("; "), [
            "cdef: it is cdef, not cpdef, so no Python function calls it",
            "foreign: the Python function of its name is of another module",
            "nothing: its result cannot report an exception",
            "flags= may say that it raises none",
            "structs: its type has no signature: struct x (int, int __pyx_skip_dispatch)"])
        module.__pyx_capi__ = {}
        with self.assertRaisesRegex(TypeError, "its __pyx_capi__ has no capsules"):
            typedcall.tag_pyx_capi(module)

    def test_what_exports_nothing_is_refused(self):
        with self.assertRaisesRegex(TypeError, "__pyx_capi__"):
            typedcall.tag_pyx_capi(math)
        with self.assertRaisesRegex(ImportError, "no_such_module"):
            typedcall.tag_pyx_capi("no_such_module")
        for function in (
            typedcall.tag_pyx_capi, typedcall.export_to_cython, typedcall.cython_declarations
        ):
            with self.assertRaisesRegex(TypeError, "a module or its name is needed, not a 'int'"):
                function(5)
            with self.assertRaises(ImportError):
                function("no_such_module")

    def test_a_module_that_offers_nothing_is_left_alone(self):
        self.assertEqual(typedcall.export_to_cython(math), [])
        self.assertFalse(hasattr(math, "__pyx_capi__"))
        self.assertEqual(typedcall.cython_declarations(math).strip(), "")


class Sink(support.InAFolder):
    CONSUMER = """
from typed_functions cimport add, div, turn, sum_of, same_object, half_float, first_of, inc

def call(double a, double b):
    cdef double values[3]
    values[0] = a; values[1] = b; values[2] = 1
    return add(a, b), turn(a + b * 1j), sum_of(values, 3), half_float(3), inc(5)

def divide(double a, double b):
    return div(a, b)

def objects(x):
    return same_object(x)

def first(x):
    return first_of(x)
"""

    def test_cython_code_imports_typed_functions(self):
        folder = self.folder
        declarations = typedcall.cython_declarations(functions)
        self.assertIn("cdef double add(double, double) noexcept nogil\n", declarations)
        self.assertIn("cdef double div(double, double) except? -1\n", declarations)
        self.assertIn("cdef object same_object(object)\n", declarations)
        self.assertIn("cdef void count() noexcept nogil\n", declarations)
        (folder / "typed_functions.pxd").write_text(declarations)
        (folder / "cython_consumer.pyx").write_text(self.CONSUMER)
        made = adapter_support.compile_pyx(folder / "cython_consumer.pyx", folder)
        exported = typedcall.export_to_cython("typed_functions")
        self.assertIn("add", exported)
        self.assertNotIn("negate", exported)  # a bint is an int, not a bool
        self.assertNotIn("invert", exported)  # functions that return a status are omitted
        consumer = support.load("cython_consumer", made)
        self.addCleanup(sys.modules.pop, "cython_consumer")
        self.assertEqual(consumer.call(1.5, 2.0), (3.5, -2 + 1.5j, 4.5, 1.5, 6))
        self.assertEqual(consumer.divide(-1.0, 1.0), -1.0)
        with self.assertRaises(ZeroDivisionError):
            consumer.divide(1.0, 0.0)
        self.assertIs(consumer.objects(self), self)
        self.assertEqual(consumer.first([7]), 7)
        with self.assertRaises(IndexError):
            consumer.first([])

    def test_cython_accepts_each_declaration(self):
        """The type in the .pxd must have the name that Cython expects in the capsule."""
        module, names = types.ModuleType("every_type"), []
        values = "b B h H i I l L q Q n N f d g Zf Zd Zg".split()
        for at, each in enumerate([*values, "s", "P", "O", *("&" + each for each in values), *("&k" + each for each in values)]):
            def function(x):
                raise NotImplementedError

            name = "f%d" % at
            setattr(module, name, function)
            typedcall.tag(function, "%s->%s" % (each, each), 4096)
            names.append(name)
        sys.modules[module.__name__] = module
        self.addCleanup(sys.modules.pop, module.__name__)
        self.assertEqual(typedcall.export_to_cython(module), sorted(names))
        (self.folder / "every_type.pxd").write_text(typedcall.cython_declarations(module))
        (self.folder / "every_consumer.pyx").write_text(
            "from every_type cimport %s\ndef addresses(): return [%s]\n"
            % (", ".join(names), ", ".join("<size_t><void *>" + name for name in names)))
        made = adapter_support.compile_pyx(self.folder / "every_consumer.pyx", self.folder)
        self.assertEqual(support.load("every_consumer", made).addresses(), [4096] * len(names))
        sys.modules.pop("every_consumer")

    def test_a_wrong_declaration_is_an_import_error(self):
        folder = self.folder
        (folder / "typed_functions.pxd").write_text(
            "cdef double add(double, long) noexcept nogil\n"
        )
        (folder / "wrong_consumer.pyx").write_text(
            "from typed_functions cimport add\ndef call(): return add(1, 2)\n"
        )
        made = adapter_support.compile_pyx(folder / "wrong_consumer.pyx", folder)
        self.addCleanup(sys.modules.pop, "wrong_consumer", None)
        typedcall.export_to_cython(functions)
        with self.assertRaisesRegex(TypeError, "add"):
            support.load("wrong_consumer", made)


class CythonSpecial(unittest.TestCase):
    """SciPy's cython_special has hundreds of functions without tags."""

    @classmethod
    def setUpClass(cls):
        cls.special = adapter_support.library("scipy.special.cython_special")

    def test_every_capsule_is_resolved(self):
        capsules = self.special.__pyx_capi__
        self.assertGreater(len(capsules), 300)
        for name, capsule in capsules.items():
            (entry,) = typedcall.entries(capsule)
            self.assertTrue(entry.flags & Flags.THREAD_SAFE, name)
            self.assertFalse(entry.flags & (Flags.NEEDS_THREAD | Flags.MAY_RAISE), name)

    def test_those_that_may_warn_take_the_gil(self):
        by_signature = {e.signature: e.flags for e in typedcall.entries(self.special.bdtr)}
        self.assertIn("dld->d", by_signature)
        self.assertFalse(by_signature["dld->d"] & Flags.ACQUIRES_GIL)
        self.assertTrue(by_signature["ddd->d"] & Flags.ACQUIRES_GIL)

    def test_boxed_and_unboxed_calls_agree(self):
        # SciPy prints warnings to stderr.
        ended, output, _ = support.python(
            "-m", "typedcall", "verify", "scipy.special.cython_special", "--json",
            *("--largest", "50", "--count", "60", "--time-limit", "5"),
        )
        self.assertEqual(ended, 0, output)
        compared = 0
        for verdict in json.loads(output)["results"]:
            self.assertEqual(verdict["unexplained"], 0, verdict)
            if verdict["skipped"]:
                # The Python versions of some SciPy functions crash or never return.
                self.assertRegex(verdict["skipped"], "takes a pointer|in its boxed", verdict)
            else:
                self.assertGreater(verdict["equal"], 0, verdict)
                compared += 1
        self.assertGreater(compared, 320)
