"""Random sets of overloads of one Python function, what that does by Python's rules, and how values and
errors of different libraries are compared with it."""
import itertools
import random

import support
import typedcall

functions = support.build("overload_functions")

LETTERS = "dli?"
INTS = (0, 1, -7, 2**31 - 1, 2**31, -2**31 - 1, 2**40, 2**63 - 1, -2**63)
VALUES = (False, True, *INTS, 0.0, -2.5, 1e300, float("inf"))
FLAGS = typedcall.entries(functions.d)[0].flags
#: typedcall/convert/argument.h, for bool, int and float.
_RANKS = {"?": {bool: 0}, "i": {bool: 1, int: 0}, "l": {bool: 1, int: 0}, "d": {bool: 2, int: 2, float: 0}}


def _has_room(value, letter):
    bits = {"i": 31, "l": 63}.get(letter, 99)
    return not isinstance(value, int) or -2**bits <= value < 2**bits


def choose(overloads, arguments):
    """(the overload that the wrapper of these calls, as "dl"; does it come behind one without room for an
    int?). TypeError or OverflowError where there is none. typedcall/provider/overloads.h."""
    if len(overloads) == 1:
        return overloads[0], False  # takes all that can be converted
    ranked = [(max(ranks), each) for each in overloads
              for ranks in [[_RANKS[letter].get(type(value), 3) for letter, value in zip(each, arguments)]]
              if max(ranks) < 3]
    too_large = set()
    for _, each in sorted(ranked, key=lambda pair: pair[0]):
        # An int that was too large for one must not lose digits in another.
        if any(letter == "d" and i in too_large for i, letter in enumerate(each)):
            continue
        misfits = {i for i, pair in enumerate(zip(arguments, each)) if not _has_room(*pair)}
        if not misfits:
            return each, bool(too_large)
        too_large |= misfits
    raise OverflowError("no overload has room") if too_large else TypeError("no overload suits")


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
    except Exception as error:
        return Failure(kind_of(error) or "%s: %s" % (type(error).__name__, error))


def kind_by_text(error):
    """Of errors of libraries, which have Python's as a text."""
    for kind in (TypeError, OverflowError):
        if isinstance(error, kind) or kind.__name__ in str(error):
            return kind.__name__
    return None


def agree(found, expected, overloads, arguments):
    """Is it the same? Of two faults either may be said first: a float for an int, and an int too large."""
    if isinstance(found, Failure) and isinstance(expected, Failure) and len(overloads) == 1:
        if any(letter in "il" and type(value) is float for letter, value in zip(overloads[0], arguments)):
            return {found, expected} <= {"TypeError", "OverflowError"}
    return type(found) is type(expected) and found == expected
