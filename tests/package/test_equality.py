"""One table: functions of every type of numbers, against arguments of every kind, in each sink that
Python reaches: its value, its type and its exception are those of the boxed call."""

import itertools
import math
import types
import unittest
import unittest.mock

import adapter_support
import support
import typedcall
import typedcall.pypy

functions = support.build("narrow_functions")
defaults = support.build("default_functions")

_INTEGERS = "bBhHiIlL"


def limits(letters):
    bits = {"b": 8, "h": 16, "i": 32, "l": 64}[letters.lower()]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if letters.islower() else (0, 2**bits - 1)


#: What stands for each parameter.
VALUES = [0, 1, -1, 13, 77, True, False, 0.0, -0.0, 1.0, 1.5, 0.1, -2.5, 1e300, -1e300, 5e-324, 2.0**31,
          math.inf, -math.inf, math.nan, 16777217, 2**53 + 1, 2**62 + 2**38 + 1, 10**30, -(10**30), 10**400,
          1j, 1.5 + 0j, "1", b"1", None, (), object()]
for _letters in _INTEGERS:
    for _limit in limits(_letters):
        VALUES += [_limit - 1, _limit, _limit + 1]

#: Name and number of arguments.
ONE = ["same_" + letters for letters in _INTEGERS + "fd"] + ["same_bool"]
OTHERS = ["nothing", "positive_i", "positive_f", "checked_i", "checked_B", "checked_f", "checked_d",
          "status", "expect"]
OVERLOADS = ["int_or_float", "float_or_int", "char_or_long", "three", "two_floats", "other_results"]
TWO = ["larger_b", "larger_H", "larger_L", "larger_f", "two_arguments"]


def unique(values):
    """Without doubles, which for ints and floats and bools are not those that are equal."""
    return list({(type(value), repr(value)): value for value in values}.values())


def cases(names=None):
    """(name, arguments)."""
    values = unique(VALUES)
    for name in ONE + OTHERS + OVERLOADS:
        for value in values:
            yield name, (value,)
    for name in TWO:
        for value in values:
            yield name, (value, 1)
            yield name, (1, value)


def outcome(function, arguments):
    """The exception's type, or the value's type and what it is, -0.0 and nan included."""
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error)
    if hasattr(result, "item"):
        result = result.item()
    return type(result), repr(result)


def fits_c(name, expected):
    """Has the C function's result type room for what Python gives? A function that falls back to
    Python may give more."""
    if name != "positive_i" or expected[0] is not int:
        return True
    return abs(int(expected[1])) < 2**31


class Table(unittest.TestCase):
    maxDiff = None

    def compare(self, call, is_refused, skipped=(), least=1000):
        """`is_refused(name, arguments, expected, error)`: may the sink say TypeError instead?"""
        differences, equal, refused = [], 0, 0
        for name, arguments in cases():
            if name in skipped:
                continue
            expected = outcome(getattr(functions, name), arguments)
            if isinstance(expected, tuple) and not fits_c(name, expected):
                expected = OverflowError
            found = outcome(lambda *given: call(name, given), arguments)
            if found == expected:
                equal += 1
            elif isinstance(found, type) and is_refused(name, arguments, expected, found):
                refused += 1
            else:
                differences.append((name, arguments, expected, found))
        self.assertEqual(differences, [])
        self.assertGreater(equal, least)
        return refused

    def test_typed_functions(self):
        made = {}
        for name in ONE + OTHERS + TWO + OVERLOADS:
            function = getattr(functions, name)
            entries = typedcall.entries(function)
            if len(entries) != 1:
                continue
            try:
                made[name] = typedcall.resolve(function, entries[0].signature)
            except TypeError:
                self.assertTrue(support.IS_PYPY, name)  # has nothing for what may raise
        self.assertGreater(len(made), 10)
        differences = []
        for name, arguments in cases():
            if name not in made:
                continue  # it is one overload
            expected = outcome(getattr(functions, name), arguments)
            found = outcome(made[name], arguments)
            if found != expected:
                differences.append((name, arguments, expected, found))
        self.assertEqual(differences, [])

    @staticmethod
    def typed(numpy, arguments):
        """Both libraries take an int for an int64 as long as another one is; these are uint64s."""
        return [numpy.uint64(value) if type(value) is int and 2**63 <= value < 2**64 else value
                for value in arguments]

    @staticmethod
    def holds_no_number(arguments):
        """Is an int among them that neither NumPy nor Numba has a type for?"""
        return any(type(value) is int and not -(2**63) <= value < 2**64 for value in arguments)

    @support.ON_CPYTHON
    def test_ufuncs(self):
        numpy = adapter_support.library("numpy")
        made = {}

        def call(name, arguments):
            if name not in made:
                made[name] = typedcall.ufunc(getattr(functions, name))
            with numpy.errstate(all="ignore"):
                return made[name](*self.typed(numpy, arguments))

        def is_refused(name, arguments, expected, found):
            if not issubclass(found, TypeError):
                return False
            # An int for a bool, and what only an array of objects holds.
            return name == "same_bool" or self.holds_no_number(arguments)

        # `v` has no array. NumPy chooses by types: of b->l and l->l an int64 takes the second.
        # A sequence is an array, also an empty one.
        skipped = ("nothing", "expect", "char_or_long")
        original = VALUES[:]
        self.addCleanup(VALUES.__setitem__, slice(None), original)
        VALUES[:] = [value for value in VALUES if value != ()]
        self.compare(call, is_refused, skipped)

    @support.ON_CPYTHON
    def test_numba(self):
        numba, numpy = adapter_support.library("numba"), adapter_support.library("numpy")
        made = {}

        def call(name, arguments):
            if name not in made:
                names = ", ".join("ab"[: len(arguments)])
                scope = {"f": getattr(functions, name)}
                exec("def call(%s): return f(%s)" % (names, names), scope)
                made[name] = numba.njit(scope["call"])
            if self.holds_no_number(arguments):
                raise TypeError  # as Numba, in more than one way
            return made[name](*self.typed(numpy, arguments))

        def is_refused(name, arguments, expected, found):
            if not issubclass(found, (TypeError, numba.errors.TypingError)):
                return False
            # What the boxed call refuses, refused when it is compiled; an int for a bool.
            return expected is TypeError or name == "same_bool" or self.holds_no_number(arguments)

        # Of b->b and l->l an int64 is refused: compiled code has one type of result.
        self.compare(call, is_refused, ("other_results",))


def by_name_only(x, *, y=2.0, z):
    return defaults.half_by_position(float(x), float(y), float(z))


def tagged_with_parameters(*args, **keywords):
    """As a function in C without a text signature."""
    def meant(x, /, y, z=3.0):
        return defaults.half_by_position(float(x), float(y), float(z))

    return meant(*args, **keywords)


def tagged_with_defaults(x, y, z=4.5):
    return defaults.half_by_position(float(x), float(y), float(z))


def tag_all():
    entry = typedcall.entries(defaults.half_by_position)[0]
    typedcall.tag(by_name_only, entry.signature, entry.address, flags=entry.flags)
    typedcall.tag(tagged_with_parameters, entry.signature, entry.address, flags=entry.flags,
                  parameters="(x, /, y, z=3.0)")
    typedcall.tag(tagged_with_defaults, entry.signature, entry.address, flags=entry.flags, defaults=(4.5,))


#: Names of the parameters, and values for them.
NAMED = {
    "distance": "a b c d radius", "digits": "a b c", "mixed": "x n flag z", "by_position": "x y",
    "half_by_position": "x y z", "below": "x limit", "status": "x y", "root": "x factor",
    "area": "width height", "with_nan": "x y z", "all_optional": "x y", "single": "x by",
    "plain": "arg0 arg1", "by_name_only": "x y z", "tagged_with_parameters": "x y z",
    "tagged_with_defaults": "x y z",
}
GIVEN = {"digits": [1, 5, 8], "status": [13, 4], "mixed": [2.5, 3, False, 1.5]}


def calls():
    """(name, arguments by position, arguments by name): so many by position, and of the others
    one, all but one, or all; and what fits no function."""
    for name, names in NAMED.items():
        names = names.split()
        values = GIVEN.get(name, [2.5, 4.0, -1.0, 0.5, 7.0])
        pairs = list(zip(names, values))
        for count in range(len(names) + 1):
            args = tuple(values[:count])
            rest = pairs[count:]
            sizes = {0, 1, len(rest) - 1, len(rest)}
            for chosen in itertools.chain.from_iterable(
                    itertools.combinations(rest, size) for size in sizes if 0 <= size <= len(rest)):
                yield name, args, dict(reversed(chosen))
        yield name, tuple(values[:len(names)]) + (1.5,), {}
        yield name, tuple(values[:len(names)]), {names[0]: 1.5}
        yield name, tuple(values[:len(names)]), {"unknown": 1.5}
    for name, args, keywords in (
            ("root", (-4.0,), {}), ("root", (), {"x": -4.0}), ("root", (), {"factor": 3.0, "x": -4.0}),
            ("root", (-4.0, 3.0), {}), ("below", (11.0,), {}), ("below", (), {"limit": 1.0, "x": 2.0}),
            ("digits", (2**31,), {}), ("digits", (), {"c": 2**40}), ("digits", (1,), {"c": -(2**31) - 1}),
            ("status", (), {"x": 13}), ("area", (3,), {}), ("area", (3,), {"height": 4}), ("area", (3, 4.0), {}),
            ("area", (), {"width": 2**40}), ("mixed", (1.5,), {"n": 2**15}), ("distance", (1, 2), {"d": True})):
        yield name, args, keywords


class Named(unittest.TestCase):
    """Keywords and defaults: what the Python function takes, each sink takes."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        tag_all()

    def function(self, name):
        return globals().get(name) or getattr(defaults, name)

    def compare(self, call, is_refused=lambda name, args, keywords, expected, found: False, floating=(),
                least=200):
        """`is_refused`: may the sink say TypeError instead? `floating`: functions whose results are
        floats in the sink, for they have the C function's type."""
        differences, equal = [], 0
        for name, args, keywords in calls():
            def boxed(*_, name=name, args=args, keywords=keywords):
                return self.function(name)(*args, **keywords)

            def unboxed(*_, name=name, args=args, keywords=keywords):
                return call(name, args, keywords)

            expected, found = outcome(boxed, ()), outcome(unboxed, ())
            if name in floating and isinstance(expected, tuple):
                expected = float, repr(float(expected[1]))
            if found == expected:
                equal += 1
            elif not (isinstance(found, type) and is_refused(name, args, keywords, expected, found)):
                differences.append((name, args, keywords, expected, found))
        self.assertEqual(differences, [])
        self.assertGreater(equal, least)

    def test_typed_functions(self):
        made = {}
        for name in NAMED:
            function = self.function(name)
            try:
                made[name] = typedcall.resolve(function, typedcall.entries(function)[0].signature)
            except TypeError:
                self.assertTrue(support.IS_PYPY, name)  # has nothing for what may raise
        before = defaults.calls()

        def call(name, args, keywords):
            if name not in made or name == "area":  # it is one overload
                return self.function(name)(*args, **keywords)
            return made[name](*args, **keywords)

        def is_refused(name, args, keywords, expected, found):
            # A default that has no literal; without all that are behind it the C function has it.
            return name == "with_nan" and found is TypeError

        self.compare(call, is_refused)
        self.assertGreater(defaults.calls(), before)

    def test_functions_without_the_last_parameters(self):
        made = {}

        def call(name, args, keywords):
            function = self.function(name)
            count = len(args) + len(keywords)
            for entry in typedcall.entries(function):
                if len(entry.python_types()[0]) == count and name != "area":
                    if entry.signature not in made:
                        made[name, count] = typedcall.resolve(function, entry.signature)
                    return made[name, count](*args, **keywords)
            return function(*args, **keywords)

        def is_refused(name, args, keywords, expected, found):
            # What it leaves out was given, or it was not found by PyPy.
            names = NAMED[name].split()
            left_out = set(names[len(args) + len(keywords):])
            return found is TypeError and (bool(left_out & set(keywords)) or support.IS_PYPY)

        self.compare(call, is_refused)

    @support.ON_CPYTHON
    def test_numba(self):
        numba = adapter_support.library("numba")
        made = {}

        def call(name, args, keywords):
            key = (name, len(args), *keywords)
            if key not in made:
                values = ["_%d" % i for i in range(len(args) + len(keywords))]
                passed = values[:len(args)]
                passed += ["%s=%s" % pair for pair in zip(keywords, values[len(args):])]
                scope = {"f": self.function(name)}
                exec("def call(%s): return f(%s)" % (", ".join(values), ", ".join(passed)), scope)
                made[key] = numba.njit(scope["call"])
            return made[key](*args, *keywords.values())

        def is_refused(name, args, keywords, expected, found):
            if not issubclass(found, (TypeError, numba.errors.TypingError)):
                return False
            # What the boxed call refuses, refused when it is compiled.
            return expected is TypeError or name == "with_nan"

        before = defaults.calls()
        self.compare(call, is_refused, ["root"], least=100)
        self.assertGreater(defaults.calls(), before)

    @support.ON_PYPY  # CPython calls no functions through cffi
    def test_accelerated_functions(self):
        originals = {name: self.function(name) for name in NAMED}
        module = types.ModuleType("tagged")
        vars(module).update(originals)
        shims = []
        for each in (defaults, module):
            typedcall.pypy.accelerate(each)
            self.addCleanup(typedcall.pypy.restore, each)
            shims.append(vars(each))
        self.assertIsNot(getattr(defaults, "distance"), originals["distance"])
        self.assertIsNot(module.by_name_only, originals["by_name_only"])
        found = {name: getattr(module, name) for name in NAMED}
        found.update((name, getattr(defaults, name)) for name in NAMED if hasattr(defaults, name))
        with unittest.mock.patch.object(self, "function", originals.get):
            self.compare(lambda name, args, keywords: found[name](*args, **keywords))


if __name__ == "__main__":
    unittest.main()
