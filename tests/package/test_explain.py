"""Tests typedcall.explain() and its command: what they say is what a call does, by the reference of the sets."""
import ctypes
import inspect
import tempfile
import unittest

import adapter_support
import matrix_sets
import matrix_sets_choice
import support
import typedcall
from command_line import CommandLine

support.module_only_if(not support.IS_PYPY, "the sinks are CPython's")

_TYPES = {"l": ctypes.c_long, "i": ctypes.c_int, "d": ctypes.c_double, "b": ctypes.c_byte, "g": ctypes.c_longdouble}


def tagged(*signatures, flags=0):
    """Returns a function with these overloads, whose C functions are never called."""
    def function(*arguments):
        raise AssertionError("called")

    made = []
    for each in signatures:
        letters, _, result = each.partition("->")
        kind = ctypes.CFUNCTYPE(_TYPES[result], *map(_TYPES.__getitem__, letters))
        made.append(kind(function))
    function.kept = made
    addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in made]
    typedcall.tag(function, signatures, addresses, flags=flags)
    return function


def taken(found, values):
    """Returns the signature of the step that accepts these values, or None. Reads only what explain() shows."""
    in_range = {}
    for step in found.steps:
        fits = True
        for check in step.checks:
            at, value = check.argument - 1, values[check.argument - 1]
            ok = in_range.get(at, True) if check.least is None else check.least <= value <= check.most
            in_range[at] = in_range.get(at, True) and ok
            fits = fits and ok
        if fits:
            return step.signature
    assert found.falls_back, found
    return None


class Choices(unittest.TestCase):
    """Explanations against the reference for all pairs of codes and random sets."""

    types = ("bool", "int8", "uint32", "int64", "uint64", "int128", "float32", "float64", "complex64", "complex128")

    def sets(self):
        adapter_support.library("numpy")
        seed = support.seeds.seed(matrix_sets.SEED)
        return [*[*matrix_sets.pairs(self.types)][::40], *matrix_sets.drawn(self.types, 120, seed)]

    def each(self):
        sets, python = self.sets(), []
        with tempfile.TemporaryDirectory() as folder:
            library = matrix_sets.Library([each for one in sets for each in one.overloads], folder)
            for one in sets:
                function = one.tagged(library, python)
                for call in one.calls:
                    wanted = matrix_sets_choice.choose([letters for letters, _ in one.overloads],
                                                       [matrix_sets.given(*each) for each in call])
                    if not isinstance(wanted, str):
                        letters, result = one.overloads[wanted]
                        wanted = "".join(letters) + "->" + result
                    yield function, call, None if wanted in ("TypeError", "OverflowError") else wanted

    def test_types(self):
        seen = set()
        for function, call, wanted in self.each():
            found = typedcall.explain(function, *(name for name, _ in call))
            with self.subTest(call, steps=found.steps, signatures=typedcall.signatures(function)):
                self.assertEqual(taken(found, [value for _, value in call]), wanted)
                listed = sorted([each.signature for each in (*found.steps, *found.others)])
                self.assertEqual(listed, sorted(typedcall.signatures(function)))
                seen.update(each.why.rstrip("0123456789")[:12] for each in found.others)
        self.assertGreaterEqual(len(seen), 4, seen)  # several reasons occur

    def test_values(self):
        for function, call, wanted in self.each():
            values = [value for name, value in call if name not in ("float32", "complex64")]
            if len(values) < len(call):
                continue
            found = typedcall.explain(function, *values)
            with self.subTest(call, steps=found.steps, signatures=typedcall.signatures(function)):
                self.assertEqual(taken(found, values), wanted)
                self.assertFalse([check for step in found.steps for check in step.checks])


class Explain(unittest.TestCase):
    def test_steps_and_reasons(self):
        found = typedcall.explain(tagged("b->b", "d->d", "l->l", "ii->i"), "int")
        self.assertEqual([step.signature for step in found.steps], ["b->b", "l->l"])
        self.assertEqual(found.steps[0].checks, [(1, -128, 127)])
        self.assertTrue(found.falls_back)
        self.assertEqual(found.results, ["b", "l"])
        self.assertEqual(dict(found.others), {
            "d->d": "would round argument 1, if that is an int out of range for an overload that comes first",
            "ii->i": "takes 2 arguments, not 1"})
        text = str(found)
        self.assertIn("1. 'b->b', if argument 1 is in -128..127", text)
        self.assertIn("3. the Python function, for all other values", text)

    def test_values_and_types_of_all_kinds(self):
        numpy = adapter_support.library("numpy")
        f = tagged("l->l", "d->d")
        for given, kind, limits in (
                (int, "INT", (-2**127, 2**128 - 1)), (True, "BOOL", (0, 1)), (2**70, "INT", (2**70, 2**70)), (float, "FLOAT", (0, 0)),
                ("float32", "C_FLOAT", (0, 0)), (numpy.int16, "INT", (-2**15, 2**15 - 1)), (numpy.float32(1), "HAS_FLOAT", (0, 0)),
                (numpy.dtype("c8"), "C_COMPLEX", (0, 0)), ("H", "INT", (0, 2**16 - 1)), (str, "STR", (0, 0)), (b"x", "OTHER", (0, 0)),
                (None, "OTHER", (0, 0)), ("longdouble", "FLOAT", (0, 0)), (numpy.int64(3), "INT", (3, 3))):
            with self.subTest(given):
                argument, = typedcall.explain(f, given).arguments
                self.assertEqual((argument.kind, (argument.least, argument.most)), (kind, limits))

    def test_an_object_with_only_complex(self):
        class Number:
            def __complex__(self):
                return 1j

        self.assertEqual(typedcall.explain(tagged("l->l"), Number()).arguments[0].kind, "HAS_COMPLEX")

    def test_nothing_is_called(self):
        class Liar:
            __class__ = property(lambda self: self.fail)

            def __index__(self):
                raise AssertionError("called")

        found = typedcall.explain(tagged("l->l", "d->d"), 1.5)
        self.assertEqual([step.signature for step in found.steps], ["d->d"])
        with self.assertRaises(AssertionError):  # the value of an int decides, so it is asked
            typedcall.explain(tagged("l->l"), Liar())

    def test_buffers(self):
        numpy = adapter_support.library("numpy")

        def total(x):
            raise AssertionError

        typedcall.tag(total, ["*kd->d", "*kl->l"], [1 << 20, 1 << 20])
        self.assertEqual([step.signature for step in typedcall.explain(total, numpy.ones(3)).steps], ["*kd->d"])
        self.assertEqual([step.signature for step in typedcall.explain(total, "int64[]").steps], ["*kl->l"])
        self.assertEqual(typedcall.explain(total, 1.0).steps, [])

    def test_an_overload_that_a_sink_cannot_call(self):
        def function(x):
            raise AssertionError

        typedcall.tag(function, ["Zd->d", "d->d"], [1 << 20, 1 << 20])
        found = typedcall.explain(function, "complex128", sink="sqlite")
        self.assertEqual(found.steps[0].boxed_because, "has an argument 'Zd', for which SQLite has no value")
        self.assertIn("1. 'Zd->d': the Python function is called, because it has an argument", str(found))

    def test_an_entry_that_differs(self):
        found = typedcall.explain(tagged("d->d", flags=typedcall.Flags.DIFFERS), 1.0)
        self.assertEqual(found.steps, [])
        self.assertEqual(found.others, [("d->d", "differs from the Python callable")])

    def test_refusals_of_sinks(self):
        for sink, library, part in (("numpy", "numpy", "depends on the values"), ("jax", "jax", "results of several types"),
                                    ("numba", "numba", "depends on the value of argument 1")):
            with self.subTest(sink):
                adapter_support.library(library)
                found = typedcall.explain(tagged("b->l", "i->d"), "int32", sink=sink)
                self.assertIn(part, found.refused)
                self.assertIn("refused: ", str(found))
                self.assertFalse(found.falls_back)

    def test_results_of_sinks(self):
        for sink in ("numpy", "jax", "numba"):
            with self.subTest(sink):
                adapter_support.library(sink)
                found = typedcall.explain(tagged("b->l", "d->d", flags=typedcall.Flags.PURE), "int8", sink=sink)
                self.assertEqual((found.results, found.refused, [step.signature for step in found.steps]), (["l"], "", ["b->l"]))

    def test_a_ufunc_says_the_same(self):
        numpy = adapter_support.library("numpy")
        f = tagged("l->l", "d->d")
        for dtype in ("int8", "uint64", "float32", "complex128"):
            found = typedcall.explain(f, dtype, sink="numpy")
            try:
                typedcall.ufunc(f)(numpy.zeros(0, dtype))
            except TypeError as error:
                self.assertTrue(found.refused, error)
            else:
                self.assertEqual(found.refused, "")

    def test_what_is_refused(self):
        f = tagged("d->d")
        with self.assertRaisesRegex(ValueError, "'excel' is none of python, numpy"):
            typedcall.explain(f, 1.0, sink="excel")
        for name in ("int63", "double*", "", "uint8[", "void", "P"):
            with self.subTest(name), self.assertRaisesRegex(ValueError, "is not the name of a type"):
                typedcall.explain(f, name)
        with self.assertRaisesRegex(TypeError, "offers no typed function"):
            typedcall.explain(len, 1)
        self.assertEqual(typedcall.explain(f).others, [("d->d", "takes 1 argument, not 0")])

    def test_it_can_be_described(self):
        self.assertIn("Raises ValueError", inspect.getdoc(typedcall.explain))


class Command(CommandLine):
    def test_text(self):
        text = self.output("explain", "typed_functions:absolute", "int", "--sink", "sqlite")
        self.assertIn("absolute(int), called from sqlite\n  1. 'l->l', if argument 1 is in -9223372036854775808..", text)
        self.assertIn("'d->d' would round argument 1", text)
        self.assertEqual(text, self.output("explain", "typed_functions.absolute", "int", "--sink", "sqlite"))

    def test_json(self):
        found = self.json("explain", "typed_functions:absolute", "-3", "--sink", "python")
        self.assertEqual(list(found), ["function", "sink", "arguments", "steps", "others", "falls_back", "results", "refused"])
        self.assertEqual(found["arguments"], [{"given": "-3", "kind": "INT", "least": -3, "most": -3}])
        step, = found["steps"]
        self.assertEqual({key: step[key] for key in ("signature", "checks", "boxed_because")},
                         {"signature": "l->l", "checks": [], "boxed_because": ""})
        self.assertEqual([other["signature"] for other in found["others"]], ["d->d"])
        self.assertEqual((found["falls_back"], found["results"], found["refused"]), (False, ["l"], ""))

    def test_refusals(self):
        self.assertIn("is not the name of a type", self.error("explain", "typed_functions:absolute", "int63"))
        self.assertIn("is none of", self.error("explain", "typed_functions:absolute", "int", "--sink", "excel"))
        self.assertIn("offers no native signature", self.error("explain", "math:sin", "1.0", status=4))
        self.assertIn("is not MODULE:NAME", self.error("explain", "typed_functions"))


if __name__ == "__main__":
    unittest.main()
