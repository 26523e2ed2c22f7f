"""One table: functions of every type of numbers, against arguments of every kind, in each sink that
Python reaches: its value, its type and its exception are those of the boxed call."""

import math
import unittest

import adapter_support
import support
import typedcall

functions = support.build("narrow_functions")

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


if __name__ == "__main__":
    unittest.main()
