"""Replaces the extension module on platforms without tags (see core/compiler.h). The package can still be imported,
parses signatures, and explains why functions have no entries. Tags are checked and ignored, so packages that tag their
functions still work. A test compares this module with the extension module."""
from __future__ import annotations

import ctypes
import platform
import struct
import sys
from typing import Any

__all__ = ["ABI_MASK", "CASTINGS", "FLAGS", "HANDLED", "MANDATORY_MASK", "PLACES", "TYPE_CODES", "WHY_NOTHING", "TypedFunction", "answers",
           "are_equivalent", "common_result", "describe", "entries", "find", "kept_by", "kind_of", "parse_signature", "plan", "rank", "select", "tag", "untag"]

#: The reason why no function has entries.
WHY_NOTHING = ("this installation of typedcall has no extension module, as wheels for 64-bit Linux have (this is "
       f"{platform.system() or sys.platform}, {8 * struct.calcsize('P')} bits), so nothing is offered")

ABI_MASK = 0xFF000000
MANDATORY_MASK = 0xFFFF
FLAGS: tuple[tuple[str, int, str], ...] = (
    ("NEEDS_THREAD", 0x0001, "needs the GIL"),
    ("ACQUIRES_GIL", 0x0002, "takes the GIL"),
    ("MAY_RAISE", 0x0004, "may raise"),
    ("ERROR_IS_NEG_ZERO", 0x0008, "error is -0.0"),
    ("RETURNS_STATUS", 0x0010, "returns a status"),
    ("TAKES_SELF", 0x0020, "takes self"),
    ("SETS_ERRNO", 0x0040, "sets errno"),
    ("DIFFERS", 0x0080, "differs from the Python callable"),
    ("FALLS_BACK", 0x0100, "may fall back"),
    ("THREAD_SAFE", 0x010000, "is not thread-safe"),
    ("PURE", 0x020000, "is not pure"),
    ("SHORT", 0x040000, "may block"),
)
CASTINGS = ("exact", "equivalent", "safe")
PLACES = ("instance slot", "method metadata", "PyPy metadata", "def row", "object row", "sibling symbol")
_FLAGS = {name: bit for name, bit, _ in FLAGS}
HANDLED = 0x011F


def _code(letters: str, c_type: str, kind: str, of: Any, count: int = 1) -> tuple[str, str, str, int, int, bool]:
    raises = kind in ("SIGNED", "UNSIGNED", "FLOATING", "POINTER", "STRING", "OBJECT")
    size, alignment = (count * ctypes.sizeof(of), ctypes.alignment(of)) if of is not None else (0, 1)
    return letters, c_type, kind, size, alignment, raises


TYPE_CODES: tuple[tuple[str, str, str, int, int, bool], ...] = (
    _code("v", "void", "VOID", None),
    _code("?", "bool", "BOOL", ctypes.c_bool),
    _code("b", "signed char", "SIGNED", ctypes.c_byte),
    _code("B", "unsigned char", "UNSIGNED", ctypes.c_ubyte),
    _code("h", "short", "SIGNED", ctypes.c_short),
    _code("H", "unsigned short", "UNSIGNED", ctypes.c_ushort),
    _code("i", "int", "SIGNED", ctypes.c_int),
    _code("I", "unsigned int", "UNSIGNED", ctypes.c_uint),
    _code("l", "long", "SIGNED", ctypes.c_long),
    _code("L", "unsigned long", "UNSIGNED", ctypes.c_ulong),
    _code("q", "long long", "SIGNED", ctypes.c_longlong),
    _code("Q", "unsigned long long", "UNSIGNED", ctypes.c_ulonglong),
    _code("n", "intptr_t", "SIGNED", ctypes.c_ssize_t),
    _code("N", "size_t", "UNSIGNED", ctypes.c_size_t),
    _code("f", "float", "FLOATING", ctypes.c_float),
    _code("d", "double", "FLOATING", ctypes.c_double),
    _code("g", "long double", "FLOATING", ctypes.c_longdouble),
    _code("Zf", "PyNativeType_ComplexFloat", "COMPLEX", ctypes.c_float, 2),
    _code("Zd", "PyNativeType_ComplexDouble", "COMPLEX", ctypes.c_double, 2),
    _code("Zg", "PyNativeType_ComplexLongDouble", "COMPLEX", ctypes.c_longdouble, 2),
    _code("P", "void *", "POINTER", ctypes.c_void_p),
    _code("s", "const char *", "STRING", ctypes.c_char_p),
    _code("O", "struct _object *", "OBJECT", ctypes.c_void_p),
)
_BY_LETTERS = {row[0]: row for row in TYPE_CODES}
_MOST = 127  # the maximum number of arguments in C


class _Fault(Exception):
    """Carries the position of a fault in a signature, and the reason."""


def _unexpected(byte: int, otherwise: str) -> str:
    if byte in b" \t\n\v\f\r":
        return "spaces are not allowed"
    return "a NUL byte is not allowed" if byte == 0 else otherwise


def _read_pointer(text: bytes, at: int) -> tuple[str, int]:
    """Reads the marks "&", "*" and "k" of a type. Returns them and the position of the code that follows."""
    mark = text[at:at + 1].decode("latin-1")
    if mark == "k":
        raise _Fault(at, "'k' must follow '&' or '*'")
    if mark not in ("&", "*"):
        return "", at
    at += 1
    const = "k" if text[at:at + 1] == b"k" else ""
    at += len(const)
    behind = text[at:at + 1].decode("latin-1")
    said = {
        "&": "'&' cannot point to '&'; write 'P'" if mark == "&" else "'*' cannot point to '&'",
        "*": f"'{mark}' cannot point to '*'",
        "v": "'&' cannot point to 'v'" if mark == "&" else "'*' cannot point to 'v'; write '*B'",
        "k": "'k' cannot be there twice",
    }
    if behind and behind in said:
        raise _Fault(at, said[behind])
    return mark + const, at


def _read_type(text: bytes, at: int) -> tuple[str, int]:
    """Reads one type, or "v". Returns it and the position after it."""
    marks, at = _read_pointer(text, at)
    if at >= len(text):
        raise _Fault(at, "unexpected end")
    reason = "unknown type code"
    letters = text[at:at + 1].decode("latin-1")
    if letters == "Z":
        at, reason = at + 1, "'Z' must be followed by f, d or g"
        if at >= len(text):
            raise _Fault(at, "unexpected end")
        letters += text[at:at + 1].decode("latin-1")
    if letters not in _BY_LETTERS:
        raise _Fault(at, _unexpected(text[at], reason))
    if marks.startswith("*"):
        no_element = {
            "P": "'*' cannot point to 'P': no number from Python becomes an address",
            "O": "'*' cannot point to 'O': a buffer owns no objects",
            "s": "'*s' is const without 'k'" if marks == "*k" else "",
        }.get(letters)
        if no_element:
            raise _Fault(at, no_element)
    return marks + letters, at + 1


def _read(text: bytes) -> tuple[list[str], str]:
    at, in_c = 0, 0
    arguments: list[str] = []
    while at < len(text) and text[at] not in b"->":
        start, needed = at, 2 if text[at] == ord("*") else 1
        fault: _Fault | None = None
        try:
            letters, at = _read_type(text, at)
            if letters == "v":
                fault = _Fault(start, "'v' is only a result")
        except _Fault as error:
            fault, at = error, error.args[0]
        if in_c + needed > _MOST and at > start:
            fault = _Fault(start, "more than 127 arguments" + ("; '*' is two in C" if needed == 2 else ""))
        if fault is not None:
            raise fault
        arguments.append(letters)
        in_c += needed
    for each in b"->":
        if at >= len(text) or text[at] != each:
            raise _Fault(at, "expected '->'")
        at += 1
    if text[at:at + 1] == b"*":
        raise _Fault(at, "'*' is only an argument: a result has no count")
    result, at = _read_type(text, at)
    if at < len(text):
        raise _Fault(at, _unexpected(text[at], "text after the result"))
    return arguments, result


def parse_signature(signature: str, /) -> tuple[list[str], str]:
    """Parses a signature as typedcall/signature.h does."""
    if not isinstance(signature, str):
        raise TypeError(f"a signature is a str, not '{type(signature).__name__[:100]}'")
    try:
        return _read(str.encode(signature))
    except _Fault as fault:
        position, reason = fault.args
    raise ValueError(f"signature {str.__repr__(str.__str__(signature)):.200} at position {position}: {reason}")


def describe(signature: str, flags: int, /) -> tuple[list[str], str, bool, bool, bool, bool, str, int, int, bool]:
    """Describes an entry as typedcall/entry_view.h does, but always as unusable."""
    arguments, result = parse_signature(signature)
    may_fall_back = bool(flags & _FLAGS["FALLS_BACK"])
    returns_status = bool(flags & _FLAGS["RETURNS_STATUS"]) and not may_fall_back
    may_raise = returns_status or bool(flags & _FLAGS["MAY_RAISE"]) and not may_fall_back
    if returns_status or may_fall_back:
        has_place = arguments and arguments[-1].startswith("&") and not _is_const(arguments[-1])
        result = arguments.pop()[1:] if has_place else "v"
    return arguments, result, False, returns_status or may_fall_back, may_raise, may_fall_back, "ANY", 0, 0, True


class TypedFunction:
    """The class of resolve()'s results, which do not exist on these platforms."""

    def __new__(cls, *args: Any, **keywords: Any) -> TypedFunction:
        raise TypeError(f"cannot create 'typedcall.TypedFunction' instances: {WHY_NOTHING}")


def entries(callable: Any, /) -> list[Any]:
    return []


def find(callable: Any, signature: str, capabilities: int, casting: str, /) -> None:
    parse_signature(signature)


def select(rows: Any, signature: str, capabilities: int, casting: str, /) -> None:
    """Returns None."""


def tag(callable: Any, rows: Any, keep_alive: Any, /) -> bool:
    """Ignores the tag, and reports that it is not new."""
    if not rows:
        raise ValueError("a tag needs at least one entry")
    return False


def untag(callable: Any, /) -> bool:
    return False


def kept_by(callable: Any, /) -> None:
    """Keeps nothing."""


def rank(kind: str, letters: str, /) -> int | None:
    """Always raises TypeError."""
    raise TypeError(WHY_NOTHING)


def kind_of(object: Any, /) -> str:
    """Always raises TypeError."""
    raise TypeError(WHY_NOTHING)


def plan(codes: bytes, columns: tuple[bytes, ...], ranges: Any, rows: int, most: int, /) -> Any:
    """Always raises TypeError."""
    raise TypeError(WHY_NOTHING)


def common_result(codes: bytes, /) -> str | None:
    """Always raises TypeError."""
    raise TypeError(WHY_NOTHING)


def _is_const(letters: str) -> bool:
    return letters[1:2] == "k" or letters == "*s"


def _same_besides_const(a: str, b: str) -> bool:
    if (a[0] in "&*", a[0] == "*") != (b[0] in "&*", b[0] == "*"):
        return False
    x, y = _BY_LETTERS[a.lstrip("&*").lstrip("k")], _BY_LETTERS[b.lstrip("&*").lstrip("k")]
    return x[0] == y[0] or (x[2] == y[2] and x[2] in ("SIGNED", "UNSIGNED") and x[3] == y[3])


def _compare(one: str, other: str, is_ordered: bool) -> bool:
    try:
        (arguments, result), (others, its_result) = parse_signature(one), parse_signature(other)
    except ValueError:
        return False
    if len(arguments) != len(others):
        return False
    # Values are passed from the first type of a pair to the second.
    for given, taken in [*zip(others, arguments), (result, its_result)]:
        if not _same_besides_const(given, taken):
            return False
        if _is_const(given) > _is_const(taken) or (not is_ordered and _is_const(given) != _is_const(taken)):
            return False
    return True


def are_equivalent(one: str, other: str, /) -> bool:
    """True if two signatures differ only in the names of integer types of the same width."""
    return _compare(one, other, False)


def answers(offered: str, asked: str, /) -> bool:
    """True if a function of signature `offered` can be called as `asked`."""
    return _compare(offered, asked, True)
