"""The type codes of signatures, and the list of flags. They are defined in typedcall/signature/type_codes.h and
typedcall/native_callable.h. Both come from the extension module, or from no_native.py."""
from __future__ import annotations

from typing import Callable, NamedTuple

try:
    import typedcall.native._native as _native
    from typedcall.native._native import parse_signature  # this name is public and documented
except ModuleNotFoundError as error:  # an existing module that cannot be loaded is an error
    if error.name != "typedcall.native._native":
        raise
    from typedcall.native import no_native as _native  # type: ignore[no-redef]
    from typedcall.native.no_native import parse_signature

__all__ = [
    "ABI_MASK", "CASTINGS", "CODES", "Code", "FLAGS", "HANDLED", "MANDATORY_MASK", "PLACES", "WHY_NOTHING", "answers", "are_equivalent",
    "bytes_of", "c_letters", "common_result", "describe", "has_error_value", "is_buffer", "is_const", "is_place", "kind_of", "kind_of_object", "letters_for",
    "parse_signature", "plan", "pointee", "range_of", "rank", "type_of",
]

#: The reason why no function has entries without the extension module. Empty if the module is installed.
WHY_NOTHING: str = getattr(_native, "WHY_NOTHING", "")
ABI_MASK = _native.ABI_MASK
#: The names of castings, which say how an entry's signature may differ from the one that is asked for. They are defined
#: in typedcall/native/signatures.h.
CASTINGS = _native.CASTINGS
FLAGS = _native.FLAGS
HANDLED = _native.HANDLED
MANDATORY_MASK = _native.MANDATORY_MASK
#: The names of places, in search order. They are defined in typedcall/resolve/place_names.h.
PLACES = _native.PLACES
TYPE_CODES = _native.TYPE_CODES
answers = _native.answers
are_equivalent = _native.are_equivalent
describe = _native.describe
plan = _native.plan
rank = _native.rank
#: The kind of an object, from typedcall/overload_choice.h.
kind_of_object = _native.kind_of
#: Like type(), but makes a static type ready, because Python cannot use a type on which PyType_Ready was never called.
type_of: Callable[[object], type] = getattr(_native, "type_of", type)


class Code(NamedTuple):
    """A native type."""

    letters: str
    #: The type in C, such as "double", "long double _Complex" or "PyObject *".
    c_type: str
    #: The name of its PyNativeKind, such as "void", "signed" or "floating".
    kind: str
    #: The size in bytes; 0 for "v".
    size: int
    alignment: int
    #: True if a result of this type can report an exception (see MAY_RAISE in docs/ABI.md, section 3).
    has_error_value: bool


def _spell(letters: str, c_type: str, kind: str) -> str:
    """Returns the standard name of a C type."""
    if kind == "COMPLEX":
        return _C_TYPES[letters[1:]] + " _Complex"
    return "PyObject *" if kind == "OBJECT" else c_type


_C_TYPES: dict[str, str] = {row[0]: row[1] for row in TYPE_CODES}

#: All types by their code, in the order of the list.
CODES: dict[str, Code] = {
    letters: Code(letters, _spell(letters, c_type, kind), kind.lower(), size, alignment, raises)
    for letters, c_type, kind, size, alignment, raises in TYPE_CODES
}

_NUMBERS = {letters: number for number, letters in enumerate(CODES)}
_BY_SIZE: dict[tuple[str, int], str] = {}
for _code in CODES.values():
    # "l" comes before "q" and "n", which have the same width on LP64.
    _BY_SIZE.setdefault((_code.kind, _code.size), _code.letters)


def letters_for(kind: str, size: int) -> str:
    """Returns the canonical code of a type of this kind and size in bytes: "l" for a signed integer of 8 bytes. Raises
    ValueError if there is none."""
    try:
        return _BY_SIZE[kind, size]
    except KeyError:
        raise ValueError(f"no type code for {kind} values of {size} bytes") from None


def is_buffer(letters: str) -> bool:
    """True for the code of a buffer, which is one argument in Python and two in C."""
    return letters.startswith("*")


def is_const(letters: str) -> bool:
    """True for the code of a pointer to const, or of a buffer of const elements."""
    return letters[:2] in ("&k", "*k") or letters == "*s"


def is_place(letters: str) -> bool:
    """True for the code of a pointer to which a function can write its result."""
    return letters.startswith("&") and not is_const(letters)


def pointee(letters: str) -> str:
    """Returns the code of the type that a pointer points to, or of a buffer's elements ("s" for a text). Returns any
    other code unchanged."""
    return letters.lstrip("&*").lstrip("k")


def kind_of(letters: str) -> str:
    """Returns the kind of a type: "pointer" for a code with "&" in front, and "buffer" for one with "*"."""
    if is_buffer(letters):
        return "buffer"
    return "pointer" if letters.startswith("&") else CODES[letters].kind


def c_letters(arguments: list[str]) -> list[str]:
    """Returns the codes of the arguments in C. A buffer becomes a pointer and the number of elements."""
    made = []
    for letters in arguments:
        made.append("s" if letters == "*s" else letters.replace("*", "&"))
        if is_buffer(letters):
            made.append("n")
    return made


def has_error_value(result: str) -> bool:
    """Returns Code.has_error_value for the code of a result."""
    return result.startswith("&") or CODES[result].has_error_value


def bytes_of(letters: list[str]) -> bytes:
    """Returns the codes of types as numbers. Pointers and buffers count as addresses."""
    return bytes([_NUMBERS.get(each, _NUMBERS["P"]) for each in letters])


def common_result(results: list[str]) -> str | None:
    """Returns the code of a type for results of all these types: the narrowest that holds all ints, or else "l", of which
    some may not fit. Returns None if they are of several kinds."""
    return _native.common_result(bytes_of(results))


def range_of(letters: str) -> tuple[int, int]:
    """Returns the smallest and the largest value of an integer type."""
    bits = 8 * CODES[letters].size
    least = -1 << (bits - 1) if CODES[letters].kind == "signed" else 0
    return least, least + (1 << bits) - 1
