"""The matrix's property for random sets of overloads."""
import itertools
import os
import random

import matrix_choice
import support
from matrix_values import compare
import typedcall

functions = support.build("overload_functions")

LETTERS = "dli?"
VALUES = (False, True, 0, 1, -7, 2**31 - 1, 2**31, -2**31 - 1, 2**40, 2**63 - 1, -2**63, 0.0, -2.5, 1e300, float("inf"))
FLAGS = typedcall.entries(functions.d)[0].flags
#: The number of sets of overloads for each sink. `tools/test --full` sets TYPEDCALL_SEED and tests more sets.
SETS = {"tvm-ffi": 800, "ufunc": 500, "duckdb": 200, "jax": 60, "numba": 30, "numba with Optionals": 30}
FAULTS = {"TypeError", "OverflowError"}
MORE = 4 if "TYPEDCALL_SEED" in os.environ else 1


def tagged(overloads, number):
    """Returns a Python function that behaves like these overloads and is tagged with their C functions."""
    alone = [getattr(functions, each) for each in overloads]

    def call(*arguments):
        try:
            return alone[matrix_choice.choose([list(each) for each in overloads], arguments)](*arguments)
        except matrix_choice.NoOverload as error:
            raise error.kind("no overload") from None

    # Numba reads the number of parameters of `made`.
    made = (lambda a: call(a)) if len(overloads[0]) == 1 else (lambda a, b: call(a, b))
    made.__name__ = made.__qualname__ = f"overloaded_{number}"
    entries = [typedcall.entries(each)[0] for each in alone]
    typedcall.tag(made, [entry.signature for entry in entries], [entry.address for entry in entries], flags=FLAGS)
    return made


def drawn(numbers, values):
    """Returns a random set of overloads, and the arguments of some calls."""
    places = numbers.choice((1, 2, 2))
    every = ["".join(each) for each in itertools.product(LETTERS, repeat=places)]
    if places == 2 and numbers.random() < 0.5:
        every = [each for each in every if "d" in each]  # all return a double
    overloads = numbers.sample(every, numbers.choice((1, 2, 2, 3, 3, 4)))
    return overloads, [tuple(numbers.choices(values, k=places)) for _ in range(6)]


def has_two_faults(overloads, arguments):
    """Returns true if a float is passed for an int. Libraries that check the types first report the float, and not
    another argument that is too large."""
    return len(overloads) == 1 and any(letter in "il" and type(value) is float
                                       for letter, value in zip(overloads[0], arguments))


def random_overloads(sink):
    """Each value chooses the overload that docs/ABI.md, 8.7 to 8.10, prescribes."""
    def cells(function, overloads, calls):
        alone = [getattr(functions, each) for each in overloads]
        found = compare(sink, "of", function, alone, [list(each) for each in overloads], calls)
        for arguments, (cell, outcome, what) in zip(calls, found):
            if outcome == "by value":
                results = [entry.python_types()[1] for entry in typedcall.entries(function)]
                is_right = matrix_choice.depends_on_values([list(each) for each in overloads], results, arguments)
                outcome = "refused" if is_right else "wrong"
            if outcome == "wrong" and has_two_faults(overloads, arguments) and set(what.split(", not ")) == FAULTS:
                outcome = "limit"
            yield cell, outcome, f"{overloads}: {what}"

    values = (*VALUES, *sink.more_values)
    for name in (name for name in dir(functions) if name.startswith("of ")):
        overloads = name.split()[1:]
        yield from cells(getattr(functions, name), overloads, [*itertools.product(values, repeat=len(overloads[0]))])
    numbers = random.Random(support.seeds.seed(1))
    for number in range(SETS.get(sink.name, 300) * MORE):
        overloads, calls = drawn(numbers, values)
        function = tagged(overloads, number)
        yield from cells(function, overloads, calls)
        typedcall.untag(function)
