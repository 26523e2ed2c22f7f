"""Chooses an entry for Python values, as a value sink does (docs/ABI.md, 8.7 to 8.10). Numbers in comments are rules of
that page. Supports bool, numbers that are not complex, texts and objects."""

import ctypes
import operator
from ctypes import c_double, py_object

from member_ctypes_entries import C_TYPES, FALLS_BACK, KINDS, RETURNS_STATUS, TAKES_SELF
from member_ctypes_places import places, prototype

EXACT, NEAR, SAFE = range(3)
_as_double = prototype("PyFloat_AsDouble", c_double, py_object)


def _is_numpy(value, *names):
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ in names


def _rank_for_integer(value):
    if type(value) is int:
        return EXACT
    if isinstance(value, int) or _is_numpy(value, "bool", "bool_"):
        return NEAR
    if hasattr(type(value), "__index__"):
        return SAFE if hasattr(type(value), "__len__") else EXACT
    return None


def _rank_for_float(code, value):
    if isinstance(value, float):
        return EXACT if type(value) is float and code != "f" else NEAR
    if isinstance(value, complex) or _is_numpy(value, "bytes_", "complex64", "complex128", "clongdouble"):
        return None
    is_number = _rank_for_integer(value) is not None or hasattr(type(value), "__float__")
    return SAFE if is_number else None


def rank(token, value):
    """Returns the rank of a value for one parameter, or None if it does not suit (8.7)."""
    kind = KINDS[token.code]
    if token.code == "s" and token.prefix != "&":
        return None if not isinstance(value, str) else EXACT if type(value) is str else NEAR
    if token.prefix or token.code not in "?bhilqnBHILQNfdgO":
        raise NotImplementedError(f"values for {token.prefix}{token.code}")
    if kind == "?":
        return EXACT if isinstance(value, bool) or _is_numpy(value, "bool", "bool_") else None
    if kind in ("signed", "unsigned"):
        return _rank_for_integer(value)
    return SAFE if token.code == "O" else _rank_for_float(token.code, value)


class OutOfRange(Exception):
    """An int that a parameter's type cannot hold."""


def _convert(token, value):
    """Converts a value as CPython's own functions do."""
    kind = KINDS[token.code]
    if token.code == "O":
        return value
    if kind == "s":
        if not isinstance(value, str):
            raise TypeError(f"{type(value).__name__} is not a str")
        return value.encode()
    if kind == "?":
        return bool(value)
    if kind in ("signed", "unsigned"):
        number = int(value) if _is_numpy(value, "bool", "bool_") else operator.index(value)
        bits = 8 * ctypes.sizeof(C_TYPES[token.code])
        low, high = (0, 1 << bits) if kind == "unsigned" else (-1 << bits - 1, 1 << bits - 1)
        if not low <= number < high:
            raise OutOfRange(f"{number} is out of the range of {token.code!r}")
        return number
    try:
        return _as_double(value)
    except OverflowError as error:
        raise OutOfRange(str(error)) from None


def _is_better(one, other):
    """Returns True if one entry's ranks are at least as good everywhere, and better somewhere (8.8)."""
    return one != other and all(map(operator.le, one, other))


def _best(ranked):
    """Returns the pair (ranks, entry) that wins (8.8)."""
    worst = min(max(ranks, default=0) for ranks, _ in ranked)
    equal = [pair for pair in ranked if max(pair[0], default=0) == worst]
    return next(pair for pair in equal if not any(_is_better(other, pair[0]) for other, _ in equal))


def convert(entry, arguments):
    """Converts all arguments. Returns (values, positions that are out of range). An exception of a content comes
    first (8.10)."""
    values, outside = [], []
    for position, (token, argument) in enumerate(zip(entry.arguments, arguments)):
        try:
            values.append(_convert(token, argument))
        except OutOfRange:
            outside.append(position)
    return values, outside


def select(entries, arguments):
    """Returns (entry, converted arguments). Raises what a call from Python raises."""
    entries = [entry for entry in entries if len(entry.arguments) == len(arguments)]
    if len(entries) == 1:  # no choice
        values, outside = convert(entries[0], arguments)
        if outside:
            raise OverflowError("an int is out of range")
        return entries[0], values
    ranked = [([rank(token, argument) for token, argument in zip(entry.arguments, arguments)], entry)
              for entry in entries]
    ranked = [(ranks, entry) for ranks, entry in ranked if None not in ranks]
    marked = set()
    while ranked:
        winner = _best(ranked)
        values, outside = convert(winner[1], arguments)
        if not outside:
            return winner[1], values
        marked.update(outside)  # 8.9
        ranked = [(ranks, entry) for ranks, entry in ranked if entry is not winner[1]
                  and not any(entry.arguments[at].code in "fdg" for at in marked)]
    raise OverflowError("an int is out of range") if marked else TypeError("no entry suits")


def choose(callable, arguments, function_type):
    """Chooses among the entries of the first place that offers some, and calls the entry."""
    unusable = RETURNS_STATUS | FALLS_BACK | TAKES_SELF
    for entries, _ in places(callable):
        usable = [entry for entry in entries if not entry.flags & unusable]
        if usable:
            entry, values = select(usable, arguments)
            return function_type(entry)(entry.address)(*values)
    raise TypeError("nothing is offered")
