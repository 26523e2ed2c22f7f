"""Reads entries in memory and matches them with requests, with ctypes alone (docs/ABI.md, section
3, 8.2 and 8.3). Numbers in comments are rules of that page."""

import ctypes
import functools
import re
from collections import namedtuple
from ctypes import c_char_p, c_int, c_size_t, c_ssize_t, c_void_p, py_object

NEEDS_THREAD, MAY_RAISE, ERROR_IS_NEG_ZERO, RETURNS_STATUS, TAKES_SELF = 0x1, 0x4, 0x8, 0x10, 0x20
FALLS_BACK = 0x100
KNOWN, MUST_UNDERSTAND, ABI_AND_ABOVE = 0x01FF, 0xFFFF, ~0xFFFFFF


def _complex(part):
    return type("Complex", (ctypes.Structure,), {"_fields_": [("real", part), ("imag", part)]})


C_TYPES = {
    "?": ctypes.c_bool, "b": ctypes.c_byte, "h": ctypes.c_short, "i": c_int, "l": ctypes.c_long, "q": ctypes.c_longlong,
    "B": ctypes.c_ubyte, "H": ctypes.c_ushort, "I": ctypes.c_uint, "L": ctypes.c_ulong, "Q": ctypes.c_ulonglong,
    "n": c_ssize_t, "N": c_size_t, "f": ctypes.c_float, "d": ctypes.c_double, "g": ctypes.c_longdouble,
    "Zf": _complex(ctypes.c_float), "Zd": _complex(ctypes.c_double), "Zg": _complex(ctypes.c_longdouble),
    "P": c_void_p, "s": c_char_p, "O": py_object,
}
KINDS = {code: "signed" if code in "bhilqn" else "unsigned" if code in "BHILQN" else code for code in C_TYPES}
_CODE, _ELEMENT = "(?:Z[fdg]|[?bhilqBHILQnNfdgPsO])", "(?:Z[fdg]|[?bhilqBHILQnNfdg])"
_TYPE = f"(?:&k?)?{_CODE}"
SIGNATURE = re.compile(rf"((?:{_TYPE}|\*k?{_ELEMENT}|\*s)*)->({_TYPE}|v)")
TOKEN = re.compile(f"([&*]?)(k?)({_CODE}|v)")
Token = namedtuple("Token", "prefix const code")  # prefix: "", "&" or "*"
Entry = namedtuple("Entry", "signature flags address arguments result")


def pointer_at(address):
    """Returns the pointer-sized word at an address; 0 stands for NULL."""
    return c_size_t.from_address(address).value


@functools.lru_cache(1024)
def parse(signature):
    """Returns (arguments, result) as tokens, or None if the signature is invalid (3.3, 3.4)."""
    match = SIGNATURE.fullmatch(signature)
    if match is None:
        return None
    arguments, result = (tuple(Token(*token) for token in TOKEN.findall(part)) for part in match.groups())
    return (arguments, result[0]) if len(arguments) + match[1].count("*") <= 127 else None


def _well_formed(flags, result):
    """Checks rules 3.8, 3.9 and 3.11 to 3.13."""
    if flags & ABI_AND_ABOVE or flags & MUST_UNDERSTAND & ~KNOWN:
        return False
    if flags & (MAY_RAISE | RETURNS_STATUS) and not flags & NEEDS_THREAD:
        return False
    if flags & FALLS_BACK and flags & (MAY_RAISE | RETURNS_STATUS | ERROR_IS_NEG_ZERO):
        return False
    if flags & ERROR_IS_NEG_ZERO and (not flags & MAY_RAISE or flags & RETURNS_STATUS or result != ("", "", "d")):
        return False
    if flags & (RETURNS_STATUS | FALLS_BACK):
        return not result.prefix and KINDS.get(result.code) == "signed" and _same_width(result.code, "i")
    return not flags & MAY_RAISE or bool(result.prefix) or result.code not in ("?", "v", "Zf", "Zd", "Zg")


def make_entry(signature, flags, address):
    """Returns an Entry, or None if a reader must ignore the entry (docs/ABI.md, 3.2, 3.3, ...)."""
    parsed = parse(signature)
    good = parsed and address and _well_formed(flags, parsed[1])
    return Entry(signature, flags, address, *parsed) if good else None


def rows(table):
    """Returns the addresses of a table's entries of 24 bytes each: signature, flags, function (3.1)."""
    count = c_ssize_t.from_address(table).value if table else 0
    return range(table + 8, table + 8 + 24 * count, 24)


def text_at(address):
    return ctypes.string_at(address).decode("latin-1")


def entries_of(table):
    """Returns the usable entries of the table at an address, which may be 0 (3.2)."""
    entries = [make_entry(text_at(pointer_at(row)), pointer_at(row + 8), pointer_at(row + 16))
               for row in rows(table) if pointer_at(row)]
    return [entry for entry in entries if entry]


def _same_width(code, other):
    """Returns True if two codes have the same size."""
    return ctypes.sizeof(C_TYPES[code]) == ctypes.sizeof(C_TYPES[other])


def _same_element(code, other):
    """Returns True if two codes have the same class, width and signedness (8.2)."""
    integers = KINDS.get(code) in ("signed", "unsigned") and KINDS[code] == KINDS.get(other)
    return code == other or integers and _same_width(code, other)


def _type_answers(offered, wanted, is_result=False):
    """8.2, 8.3: Returns True if the offered type answers the request. An argument may have an
    additional `k`; a result may lack `k`."""
    const = (wanted.const, offered.const) if is_result else (offered.const, wanted.const)
    return offered.prefix == wanted.prefix and _same_element(offered.code, wanted.code) and const != ("", "k")


def has_place(flags, arguments):
    """Returns True if the last argument is the place of the value (3.14)."""
    return bool(flags & (RETURNS_STATUS | FALLS_BACK) and arguments and arguments[-1][:2] == ("&", ""))


def answers(entry, wanted):
    """Returns True if the entry is equivalent to a parsed request (8.2, 8.3)."""
    arguments, result = wanted
    return (len(entry.arguments) == len(arguments) and _type_answers(entry.result, result, True)
            and all(map(_type_answers, entry.arguments, arguments))
            and has_place(entry.flags, entry.arguments) == has_place(entry.flags, arguments))
