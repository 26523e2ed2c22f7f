"""The reference for sets of overloads of all types: docs/ABI.md, 8.7 to 8.10, for values of known kinds. It must not use
the package. A value is (kind, value), and a kind is a key of RANKS."""
import ctypes
import platform
import struct

OWN, EXACT, NEAR, SAFE = range(4)
#: Rule 8.7. A "C float" and a "C complex" are those of a sink that has types; `f` and `Zf` are their own types.
RANKS = {
    "bool": {"?": EXACT, "int": NEAR, "f": SAFE, "d": SAFE, "Zf": SAFE, "Zd": SAFE, "O": SAFE},
    "int": {"int": EXACT, "f": SAFE, "d": SAFE, "Zf": SAFE, "Zd": SAFE, "O": SAFE},
    "float": {"d": EXACT, "f": NEAR, "Zf": SAFE, "Zd": SAFE, "O": SAFE},
    "C float": {"f": OWN, "d": EXACT, "Zf": SAFE, "Zd": SAFE, "O": SAFE},
    "complex": {"Zd": EXACT, "Zf": NEAR, "O": SAFE},
    "C complex": {"Zf": OWN, "Zd": EXACT, "O": SAFE},
    "other float": {"f": SAFE, "d": SAFE, "Zf": SAFE, "Zd": SAFE, "O": SAFE},  # NumPy's float32
    "other complex": {"Zf": SAFE, "Zd": SAFE, "O": SAFE},  # NumPy's complex64
    "str": {"s": EXACT, "*s": EXACT, "O": SAFE},
    "bytes": {"*kB": EXACT, "O": SAFE},
    "doubles": {"*d": EXACT, "*kd": EXACT, "O": SAFE},
    "const doubles": {"*kd": EXACT, "O": SAFE},
}
BITS = {letter: bits for letters, bits in (("bB", 8), ("hH", 16), ("iI", 32), ("lLqQnN", 64)) for letter in letters}


def limits(letter):
    """Returns the smallest and the largest int of an integer type."""
    bits = BITS[letter]
    return (-2**(bits - 1), 2**(bits - 1) - 1) if letter.islower() else (0, 2**bits - 1)


def rank(given, letters):
    """Returns the rank of a value for a parameter, or None."""
    column = "int" if letters in BITS else {"g": "d", "Zg": "Zd"}.get(letters, letters)
    return RANKS[given[0]].get(column)


def is_out_of_range(given, letters):
    """Rule 8.9: an integer type has limits, and a floating type those of a double."""
    kind, value = given
    if kind not in ("bool", "int") or letters in ("?", "O") or letters[0] == "*":
        return False
    if letters in BITS:
        low, high = limits(letters)
        return not low <= value <= high
    try:
        return float(value) is None
    except OverflowError:
        return True


def order(rows):
    """Yields the indices of the overloads that suit, best first (rule 8.8). `rows` are the ranks of the arguments."""
    left = {at: row for at, row in enumerate(rows) if row is not None and None not in row}
    while left:
        best = min(max(row) for row in left.values())
        equals = {at: row for at, row in left.items() if max(row) == best}

        def is_beaten(row, equals=equals):
            return any(all(a <= b for a, b in zip(other, row)) and other != row for other in equals.values())

        at = min(at for at, row in equals.items() if not is_beaten(row))
        yield at
        del left[at]


def choose(overloads, arguments):
    """Returns the index of the overload, or the name of the exception of a call."""
    rows = [[rank(given, letters) for given, letters in zip(arguments, each)] if len(each) == len(arguments) else None
            for each in overloads]
    too_large = set()
    for at in order(rows):
        floating = {i for i, letters in enumerate(overloads[at]) if letters[-1] in "fdg"}
        if too_large & floating:
            continue
        pairs = list(zip(arguments, overloads[at]))
        # Rule 8.10: the content decides before the range does.
        if any(letters == "s" and "\0" in given[1] for given, letters in pairs):
            return "ValueError"
        misfits = {i for i, pair in enumerate(pairs) if is_out_of_range(*pair)}
        if not misfits:
            return at
        too_large |= misfits
    return "OverflowError" if too_large else "TypeError"


def unpadded(long_double):
    """Returns the bytes of a long double with zeros for its padding, which x86 has."""
    return long_double[:10].ljust(16, b"\0") if platform.machine() in ("x86_64", "i686") else long_double


def passed(given, letters):
    """Returns the bytes of the C argument, without padding. An object may have any address."""
    value = given[1]
    if letters in BITS:
        return int(value).to_bytes(BITS[letters] // 8, "little", signed=letters.islower())
    if letters == "?":
        return bytes([bool(value)])
    if letters == "s":
        return value.encode() + b"\0"
    if letters == "O":
        return b""
    if letters[0] == "*":
        content = value.encode() if letters == "*s" else bytes(value)
        return content.ljust(31, b"\0") + bytes([len(content) if letters in ("*s", "*kB") else len(value)])
    parts = [complex(value).real, complex(value).imag] if letters[0] == "Z" else [float(value)]
    made = {"f": lambda part: bytes(ctypes.c_float(part)), "d": lambda part: struct.pack("=d", part),
            "g": lambda part: unpadded(bytes(ctypes.c_longdouble(part)))}[letters[-1]]
    return b"".join(map(made, parts))
