# IDs of the private registrar, and checks of an object's slots.
import sys

from slot_tools import address, check, count, find, table

SKIP = 1


def ID(idea, registrar=1, version=0):
    return registrar << 24 | idea << 8 | version << 1 | 1


def slots(*pairs):
    """Returns a table from (idea, value) pairs. None stands for a skipped position."""
    return [(SKIP, 0) if pair is None else (ID(pair[0]), pair[1]) for pair in pairs]


def bare(cls):
    """Returns an instance without calling __init__."""
    return cls.__new__(cls)


def check_answers(test, obj, expected):
    """Checks that the consumer functions return this table. None means that the type is not
    extensible."""
    positions = [0, 1, -1, len(expected or ()), -sys.maxsize - 1, sys.maxsize]
    for position in positions:
        for nobody in (0, SKIP, ID(999), ID(1, registrar=9), 0x100000000 | ID(1)):
            test.assertIsNone(find(obj, nobody, position))
    test.assertEqual((check(obj), count(obj)), (expected is not None, len(expected or ())))
    test.assertEqual(table(obj), expected)
    test.assertEqual(address(obj) != 0, bool(expected))
    for at, (slot, flags) in enumerate(expected or ()):
        if slot == SKIP:
            continue
        for position in positions + [at, at + 1, at - 1]:
            test.assertEqual(find(obj, slot, position), flags)
