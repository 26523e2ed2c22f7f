"""What the tests of narrow parameters share: the functions, limits of integers, and what a call gives or
raises."""

import support

functions = support.build("narrow_functions")

#: Limits of what holds integers.
LIMITS = {"b": (-128, 127), "B": (0, 255), "h": (-(2**15), 2**15 - 1), "H": (0, 2**16 - 1),
          "i": (-(2**31), 2**31 - 1), "I": (0, 2**32 - 1), "l": (-(2**63), 2**63 - 1),
          "L": (0, 2**64 - 1)}


def outcome(function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return result
