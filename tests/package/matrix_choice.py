"""The reference for every sink of the matrix: chooses an overload according to docs/ABI.md, 8.7 to 8.9. It must not use
the package."""
import contextlib
import itertools

EXACT, NEAR, SAFE, NONE = range(4)
#: The limits of the integer types, keyed by letter.
LIMITS = {letter: (-2**(bits - 1), 2**(bits - 1) - 1) if letter.islower() else (0, 2**bits - 1)
          for letters, bits in (("bB", 8), ("hH", 16), ("iI", 32), ("lLqQnN", 64)) for letter in letters}


class NoOverload(Exception):
    """Raised if no overload fits. `kind` is the exception that a call raises."""

    def __init__(self, kind):
        super().__init__(kind.__name__)
        self.kind = kind


def kind_of(value):
    """Returns the kind of a value (list for an array), and whether it is exactly of that type. Returns (None, False)
    for other values."""
    name = type(value).__name__ if type(value).__module__ == "numpy" else ""
    if isinstance(value, bool) or name in ("bool", "bool_"):
        return bool, True
    for kind in (int, float, complex, str):
        if isinstance(value, kind):
            return kind, type(value) is kind
    if is_numpy_complex(value):
        return complex, False
    if hasattr(type(value), "__index__"):
        return (list, False) if hasattr(type(value), "__len__") else (int, True)
    if hasattr(type(value), "__float__") and name != "bytes_":  # which has only the name
        return float, False
    return (complex, False) if hasattr(type(value), "__complex__") else (None, False)


def is_numpy_complex(value):
    """Returns true for NumPy's complex scalars and arrays, and their subclasses. They have `__float__`, which drops the imaginary part."""
    names = [f"{each.__module__}.{each.__name__}" for each in type(value).__mro__]
    return "numpy.complexfloating" in names or "numpy.ndarray" in names and value.dtype.kind == "c"


def rank(value, letters):
    """Returns how well a value suits a parameter, according to docs/ABI.md, 8.7."""
    kind, is_exact = kind_of(value)
    own = EXACT if is_exact else NEAR
    if letters == "O":
        return SAFE
    if letters == "?":
        return own if kind is bool else NONE
    if letters in LIMITS:
        return NEAR if kind is bool else own if kind is int else SAFE if kind is list else NONE
    if letters in ("f", "d", "g"):
        if kind is float and isinstance(value, float):
            return max(own, NEAR) if letters == "f" else own
        return SAFE if kind in (bool, int, float, list) else NONE
    if letters in ("Zf", "Zd", "Zg"):
        if kind is complex and isinstance(value, complex):
            return max(own, NEAR) if letters == "Zf" else own
        return SAFE if kind in (bool, int, float, complex, list) else NONE
    if letters in ("s", "*s"):
        return own if kind is str else NONE
    return NONE


def is_out_of_range(value, letters):
    kind, _ = kind_of(value)
    if letters not in LIMITS or kind not in (bool, int, list):
        return False
    low, high = LIMITS[letters]
    return not low <= int(value) <= high


def better(one, other):
    """Returns true if `one` is at least as good as `other` in every argument and better in one (docs/ABI.md, 8.8)."""
    return all(a <= b for a, b in zip(one, other)) and one != other


def in_order(overloads, ranks):
    """Yields the indices of the overloads that fit, best first."""
    left = [at for at in range(len(overloads)) if max(ranks[at], default=EXACT) < NONE]
    while left:
        worst = min(max(ranks[at], default=EXACT) for at in left)
        equals = [at for at in left if max(ranks[at], default=EXACT) == worst]
        best = next(at for at in equals if not any(better(ranks[other], ranks[at]) for other in equals))
        yield best
        left.remove(best)


def depends_on_values(overloads, results, arguments):
    """Returns true if the result's type differs between values of the same types as these. A sink that knows only types
    may then refuse the call. `results` are the letters of each overload's result."""
    arguments = [True if each is None else each for each in arguments]  # the type of an Optional that is None here
    found = set()
    for each in itertools.product(*map(_of_the_same_type, arguments)):
        with contextlib.suppress(NoOverload):
            found.add(results[choose(overloads, each)])
    return len(found) > 1


def _of_the_same_type(value):
    """Returns values of a library's type for this one: every int is 64 bits wide."""
    if type(value) is int:
        return [value, 0, *(limit for letter in "bBhHiIl" for limit in LIMITS[letter])]
    return [False, True] if type(value) is bool else [value]


def choose(overloads, arguments):
    """Returns the index of the overload for these arguments. Each overload is a list of letters. Raises NoOverload if
    none fits. A single overload is always chosen."""
    if len(overloads) == 1:
        return 0
    fitting = [each if len(each) == len(arguments) else None for each in overloads]
    ranks = [[NONE] if each is None else [rank(value, letters) for value, letters in zip(arguments, each)]
             for each in fitting]
    too_large = set()
    for at in in_order(overloads, ranks):
        each = overloads[at]
        # An int that is too large for an overload must not be rounded to a float.
        if any(i in too_large and letters[-1] in "fdg" for i, letters in enumerate(each)):
            continue
        misfits = {i for i, pair in enumerate(zip(arguments, each)) if is_out_of_range(*pair)}
        if not misfits:
            return at
        too_large |= misfits
    raise NoOverload(OverflowError if too_large else TypeError)
