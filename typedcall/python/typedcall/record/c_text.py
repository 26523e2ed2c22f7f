"""Converts between signatures and C declarations."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from typing import NamedTuple

from typedcall.record.c_parser import (
    Array,
    Function,
    Parameter,
    Parser,
    Pointer,
    Type,
    continues_a_type,
)
from typedcall.record.codes import CODES, is_buffer, is_const, letters_for, pointee
from typedcall.record.records import parse_signature

__all__ = [
    "Declaration", "c_text", "c_types", "declaration_of", "letters_of", "letters_of_type", "parameters_of",
    "parse_declaration", "parse_function",
]

_BY_C_TYPE: dict[str, str] = {code.c_type: code.letters for code in CODES.values()}
_FIXED_WIDTH = re.compile(r"(u?)int(8|16|32|64)_t")


class Declaration(NamedTuple):
    """The type of a C function: the codes of its parameters and its result, the texts of the parameters, and the name,
    if any."""

    arguments: list[str]
    result: str
    texts: list[str]
    name: str

    @property
    def signature(self) -> str:
        return "".join(self.arguments) + "->" + self.result


def _value_letters(name: str) -> str | None:
    """Returns the code of a type that is not a pointer, or None."""
    fixed = _FIXED_WIDTH.fullmatch(name)
    if fixed is not None:
        return letters_for("unsigned" if fixed[1] else "signed", int(fixed[2]) // 8)
    if name == "char":
        # Plain char is signed on x86, and unsigned on Arm.
        is_signed = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")
        return letters_for("signed" if is_signed else "unsigned", 1)
    return _BY_C_TYPE.get(name)


def letters_of_type(of: Type, text: str) -> str:
    """Returns the code of a parameter or a result. An array becomes a pointer, to const if the elements are const.
    The code is "P" for a pointer to a type without a code, to a pointer, or to a function. Raises ValueError, with
    `text` in the message, for any other type without a code."""
    if not of.layers:
        letters = _value_letters(of.base)
        if letters is None:
            words, _, word = of.base.rpartition(" ")
            if words and words not in ("struct", "union", "enum"):
                advice = "leave it out" if continues_a_type(word) else f"write {of.base!r:.500}"
                raise ValueError(f"no type code for the C type {text!r:.500}, if {word!r:.500} is a part of it; "
                                 f"if that is a name, {advice}")
            known = ", ".join(name for name in _BY_C_TYPE if "*" not in name)
            raise ValueError(f"no type code for the C type {text!r:.500}; there are {known}")
        return letters
    if len(of.layers) == 1 and not isinstance(of.layers[0], Function):
        if of.base == "PyObject":
            return _BY_C_TYPE["PyObject *"]
        if of.base == "char" and of.is_const:
            return _BY_C_TYPE["const char *"]
        pointed = _value_letters(of.base)
        if pointed is not None and CODES[pointed].kind != "void":
            return ("&k" if of.is_const else "&") + pointed
    return _BY_C_TYPE["void *"]


def letters_of(text: str) -> str:
    """Returns the code of a C type: "I" for `unsigned int`, "&kd" for `const double *`, "s" for `char const *`, "&b"
    or "&B" for `char *`, "P" for `struct x *`. Raises ValueError for a type without a code."""
    parser = Parser(text)
    of, name, _ = parser.without_header(is_parameter=True)
    if parser.next or name:
        raise parser.refuse("this is not only a type" if name else "")
    return letters_of_type(of, text)


def parse_function(
    text: str, types: Mapping[str, Type] | None = None, or_pointer: bool = False
) -> tuple[Type, str]:
    """Returns the type of the C function that `text` declares, or of a pointer to one. The second result is the name,
    or "". Raises ValueError for any other text."""
    try:
        parser = Parser(text, types)
        of, name, storage = parser.without_header()
        parser.take(";")
        if parser.next or "typedef" in storage:
            raise parser.refuse()
    except ValueError as error:
        raise ValueError(f"not the type of a C function: {text!r:.500}: {error}") from None
    if or_pointer and of.layers[1:] and of.layers[0] == Pointer(False):
        of = of._replace(layers=of.layers[1:])
    if not of.layers or not isinstance(of.layers[0], Function):
        raise ValueError(f"not the type of a C function: {text!r:.500}")
    return of, name


def parse_declaration(text: str) -> Declaration:
    """Parses a declaration such as `double (int, double *)`, with or without names. Raises ValueError for any other
    text."""
    return declaration_of(*parse_function(text), text)


def parameters_of(of: Type, text: str) -> tuple[Parameter, ...]:
    """Returns a function's parameters. Raises ValueError if the parameters are not listed, or if their number is
    variable."""
    function = of.layers[0]
    assert isinstance(function, Function)
    if function.is_variadic:
        raise ValueError(f"a function with variable arguments has no signature: {text!r:.500}")
    if function.parameters is None:
        raise ValueError(f"{text!r:.500} does not list its parameters; write (void) if there are none")
    return function.parameters


def declaration_of(of: Type, name: str, text: str) -> Declaration:
    """Returns the declaration of a function's type. Raises ValueError if the type has no signature."""
    parameters = parameters_of(of, text)
    texts = [each.text for each in parameters]
    arguments = [letters_of_type(each.type, each.text) for each in parameters]
    if "v" in arguments:
        raise ValueError(f"a parameter cannot be void: {text!r:.500}")
    _join_buffers(parameters, texts, arguments)
    result = letters_of_type(of._replace(layers=of.layers[1:]), text.partition("(")[0].strip() or text)
    return Declaration(arguments, result, texts, name)


def _join_buffers(parameters: tuple[Parameter, ...], texts: list[str], arguments: list[str]) -> None:
    """Joins an array and the parameter that is its length into a buffer (a text for const char). A buffer is one
    argument in Python."""
    for at in range(len(parameters) - 2, -1, -1):
        array, count = parameters[at], parameters[at + 1]
        first, *rest = array.type.layers or (None,)
        # There are no buffers of types without a code, such as pointers and structs.
        if not isinstance(first, Array) or rest or arguments[at] in ("P", "O"):
            continue
        if is_buffer(arguments[at + 1]) and first.length == parameters[at + 2].name != "":
            raise ValueError(f"each buffer must be followed by its own length; {texts[at]!r:.500} is not")
        if first.length != count.name or not count.name:
            continue
        known = CODES.get(arguments[at + 1])
        if known is None or (known.kind, known.size) != ("signed", CODES["n"].size):
            pointer = f"{c_types(arguments[at] + '->v')[0][0]}{array.name}"
            raise ValueError(
                f"the length of a buffer is a Py_ssize_t, not {count.text!r}: if the C function has that, "
                f"write {pointer + ', ' + count.text!r}, which is two arguments, "
                f"'{arguments[at]}{arguments[at + 1]}'"
            )
        letters = "*s" if arguments[at] == "s" else arguments[at].replace("&", "*")
        arguments[at : at + 2] = [letters]
        texts[at : at + 2] = [f"{texts[at]}, {texts[at + 1]}"]


def c_types(
    signature: str, names: dict[str, str] | None = None, const: str = "const {}"
) -> tuple[list[str], str]:
    """Returns the C types of a signature: (['int', 'double *'], 'double') for `i&d->d`. `names` maps codes to the C
    names to use instead of the standard ones. `const` is the spelling of a read-only type. A buffer becomes two
    parameters: 'const double *' and 'intptr_t' for `*kd->d`."""

    def spell(letters: str) -> str:
        code = pointee(letters)
        name = (names or {}).get(code) or CODES[code].c_type
        if letters == code or letters == "*s":
            return name
        if is_const(letters):
            name = f"{name} const" if name.endswith("*") else const.format(name)
        return name + ("*" if name.endswith("*") else " *")

    parameters = []
    arguments, result = parse_signature(signature)
    for letters in arguments:
        parameters.append(spell(letters))
        if is_buffer(letters):
            parameters.append(spell("n"))
    return parameters, spell(result)


def c_text(
    signature: str, names: dict[str, str] | None = None, const: str = "const {}"
) -> str:
    """Returns a signature as C text, with the spaces that Cython and SciPy use: `double (int, double *)` for
    `i&d->d`."""
    arguments, result = c_types(signature, names, const)
    space = "" if result.endswith("*") else " "
    return "{}{}({})".format(result, space, ", ".join(arguments) or "void")
