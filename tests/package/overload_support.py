"""Random sets of overloads of one Python function, what that does by Python's rules, and how values and
errors of different libraries are compared with it."""
import itertools
import random

import matrix_choice
import matrix_sinks
import support
import typedcall

functions = support.build("overload_functions")

LETTERS = "dli?"
INTS = (0, 1, -7, 2**31 - 1, 2**31, -2**31 - 1, 2**40, 2**63 - 1, -2**63)
VALUES = (False, True, *INTS, 0.0, -2.5, 1e300, float("inf"))
FLAGS = typedcall.entries(functions.d)[0].flags


def choose(overloads, arguments):
    """(the overload that Python's values choose, as "dl"; does it come behind one without room for an int?). TypeError or
    OverflowError where there is none."""
    try:
        found = overloads[matrix_choice.choose([list(each) for each in overloads], arguments)]
    except matrix_choice.NoOverload as error:
        raise error.kind("no overload") from None
    ranks = {each: [matrix_choice.rank(*pair) for pair in zip(arguments, each)] for each in overloads}
    is_behind = any(max(ranks[each]) < matrix_choice.NONE and max(ranks[each]) <= max(ranks[found]) and each != found
                    and any(matrix_choice.is_out_of_range(*pair) for pair in zip(arguments, each))
                    for each in overloads)
    return found, len(overloads) > 1 and is_behind


def boxed(overloads):
    """A Python function that does what the wrapper of these overloads does."""
    def call(*arguments):
        return getattr(functions, choose(overloads, arguments)[0])(*arguments)

    # Numba and others ask how many parameters it has.
    return (lambda a: call(a)) if len(overloads[0]) == 1 else (lambda a, b: call(a, b))


def tagged(overloads, number):
    """The same, tagged with their C functions."""
    made = boxed(overloads)
    made.__name__ = made.__qualname__ = "overloaded_%d" % number
    entries = [typedcall.entries(getattr(functions, each))[0] for each in overloads]
    typedcall.tag(made, [entry.signature for entry in entries], [entry.address for entry in entries],
                  flags=FLAGS)
    return made


def drawn(seed, count, calls):
    """`count` times a set of overloads of one or two parameters, and arguments of `calls` calls."""
    numbers = random.Random(seed)
    for _ in range(count):
        places = numbers.choice((1, 2, 2))
        every = ["".join(each) for each in itertools.product(LETTERS, repeat=places)]
        if places == 2 and numbers.random() < 0.5:
            every = [each for each in every if "d" in each]  # results of one type
        overloads = numbers.sample(every, numbers.choice((1, 2, 2, 3, 3, 4)))
        yield overloads, [tuple(numbers.choices(VALUES, k=places)) for _ in range(calls)]


#: What a choice has to see to.
SITUATIONS = {
    "one": "there is one overload",
    "truth": "there is one, and what it has a `?` for is no bool",
    "first": "the first one suits best",
    "better": "a later one suits better",
    "room": "an int is too large for one of those that suit better",
    "no_room": "an int is too large for all: OverflowError",
    "none_suits": "no overload suits: TypeError",
}


def situation(overloads, arguments):
    """Which of SITUATIONS it is."""
    if len(overloads) == 1:
        has_truth = any(letter == "?" and type(value) is not bool
                        for letter, value in zip(overloads[0], arguments))
        return "truth" if has_truth else "one"
    try:
        found, is_behind = choose(overloads, arguments)
    except TypeError:
        return "none_suits"
    except OverflowError:
        return "no_room"
    return "room" if is_behind else "first" if found == overloads[0] else "better"


class Failure(str):
    """The name of an exception that a call had."""


def result_of(call, kind_of):
    """The result, or the failure, which is TypeError or OverflowError where kind_of(exception) says so."""
    try:
        return call()
    except matrix_sinks.Refused:
        raise
    except Exception as error:
        return Failure(kind_of(error) or "%s: %s" % (type(error).__name__, error))


def agree(found, expected, overloads, arguments):
    """Is it the same? Of two faults either may be said first: a float for an int, and an int too large."""
    if isinstance(found, Failure) and isinstance(expected, Failure) and len(overloads) == 1:
        if any(letter in "il" and type(value) is float for letter, value in zip(overloads[0], arguments)):
            return {found, expected} <= {"TypeError", "OverflowError"}
    return type(found) is type(expected) and found == expected
