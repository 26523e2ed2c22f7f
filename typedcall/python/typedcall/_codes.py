"""The native type codes of a signature, by their letters. typedcall/type_codes.h owns the list, and
typedcall/signature.h the grammar: what is here comes from the extension module that was compiled
with them."""
from __future__ import annotations

import sys
from typing import Dict, NamedTuple, Tuple

if sys.implementation.name == "pypy":
    from typedcall._pypy_reader import TYPE_CODES, parse_signature
else:
    from typedcall._native import TYPE_CODES, parse_signature

__all__ = [
    "CODES",
    "Code",
    "are_equivalent",
    "has_error_value",
    "kind_of",
    "letters_for",
    "parse_signature",
]

_INTEGERS = ("signed", "unsigned")


class Code(NamedTuple):
    """One native type."""

    letters: str
    #: As C writes it: "double", "long double _Complex", "PyObject *".
    c_type: str
    #: "void", "bool", "signed", "unsigned", "floating", "complex", "pointer", "string", "object".
    kind: str
    #: In bytes; 0 for "v".
    size: int
    alignment: int


def _spell(letters: str, c_type: str, kind: str) -> str:
    """The list names types of its own where compilers spell C's differently."""
    if kind == "complex":
        return _C_TYPES[letters[1:]] + " _Complex"
    return "PyObject *" if kind == "object" else c_type


_ROWS: Tuple[Tuple[str, str, str, int, int], ...] = TYPE_CODES
_C_TYPES: Dict[str, str] = {row[0]: row[1] for row in _ROWS}

#: By letters, in the order of the list.
CODES: Dict[str, Code] = {
    letters: Code(letters, _spell(letters, c_type, kind), kind, size, alignment)
    for letters, c_type, kind, size, alignment in _ROWS
}

_BY_SIZE: Dict[Tuple[str, int], str] = {}
for _code in CODES.values():
    # "l" comes before "q" and "n", which have the same width on LP64.
    _BY_SIZE.setdefault((_code.kind, _code.size), _code.letters)


def letters_for(kind: str, size: int) -> str:
    """The canonical letters of a native type of that kind and size in bytes, "l" for a signed
    integer of eight. ValueError where there is none."""
    try:
        return _BY_SIZE[kind, size]
    except KeyError:
        raise ValueError("no type code for %s values of %d bytes" % (kind, size)) from None


def kind_of(letters: str) -> str:
    """The kind of a type, "pointer" for one with an "&" in front."""
    return "pointer" if letters.startswith("&") else CODES[letters].kind


def has_error_value(result: str) -> bool:
    """Can a result of this type say that there is an exception? docs/ABI.md, section 3, MAY_RAISE."""
    return kind_of(result) not in ("void", "bool", "complex")


def _class_of(letters: str) -> str:
    """Equal for types of the same width and class, as the resolver has it."""
    code = CODES[letters.lstrip("&")]
    known = "%s%d" % (code.kind, code.size) if code.kind in _INTEGERS else code.letters
    return letters[: -len(code.letters)] + known


def are_equivalent(one: str, other: str) -> bool:
    """Are two signatures the same but for names of integers, such as `l` and `q`?"""
    one_arguments, one_result = parse_signature(one)
    other_arguments, other_result = parse_signature(other)
    return list(map(_class_of, one_arguments + [one_result])) == list(
        map(_class_of, other_arguments + [other_result])
    )
