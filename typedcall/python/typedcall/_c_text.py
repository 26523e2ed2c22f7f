"""Signatures as C declarations, and back: the texts that Cython and SciPy give their capsules, and
the type names of cffi. Letters come from the list of type codes; here are only C's other names."""

from __future__ import annotations

import platform
import re
from typing import NamedTuple

from typedcall._codes import CODES, is_buffer, is_const, letters_for, pointee
from typedcall._records import parse_signature

__all__ = ["Declaration", "c_text", "c_types", "letters_of", "name_in", "parse_declaration", "split"]

# What is no name of C's own, by one that is. `intptr_t` and `size_t` stand for "n" and "N".
_ALIASES = {
    "_Bool": "bool",
    "Py_ssize_t": "intptr_t",
    "Py_hash_t": "intptr_t",
    "ssize_t": "intptr_t",
    "ptrdiff_t": "intptr_t",
    "npy_intp": "intptr_t",
    "uintptr_t": "size_t",
    "npy_uintp": "size_t",
    "npy_float": "float",
    "npy_double": "double",
    "npy_longdouble": "long double",
    "__pyx_t_float_complex": "float _Complex",
    "__pyx_t_double_complex": "double _Complex",
    "__pyx_t_long_double_complex": "long double _Complex",
    "float complex": "float _Complex",
    "double complex": "double _Complex",
    "long double complex": "long double _Complex",
    "_cffi_float_complex_t": "float _Complex",
    "_cffi_double_complex_t": "double _Complex",
}
# BLAS and LAPACK in SciPy: `ctypedef double d` and its like, which Cython writes with the module.
_BLAS_TYPE = re.compile(r"__pyx_t_5scipy_6linalg_\d+cython_(?:blas|lapack)_([sdcz])")
_BLAS_TYPES = {"s": "float", "d": "double", "c": "float _Complex", "z": "double _Complex"}
_FIXED_WIDTH = re.compile(r"(?:npy_)?(u?)int(8|16|32|64)(?:_t)?")
_QUALIFIERS = {"const", "volatile", "restrict", "__restrict", "struct", "union", "enum"}

_BY_C_TYPE: dict[str, str] = {code.c_type: code.letters for code in CODES.values()}


class Declaration(NamedTuple):
    """A C function's type: letters of its parameters and its result, and the parameters' texts; and
    its name, if the text has one."""

    arguments: list[str]
    result: str
    texts: list[str]
    name: str

    @property
    def signature(self) -> str:
        return "".join(self.arguments) + "->" + self.result


def _value_letters(words: list[str]) -> str | None:
    """The letters of a type without stars, or None if nothing is known of it."""
    name = " ".join(words)
    if name in _BY_C_TYPE:
        return _BY_C_TYPE[name]
    if name in _ALIASES:
        return _BY_C_TYPE[_ALIASES[name]]
    fixed = _FIXED_WIDTH.fullmatch(name)
    if fixed is not None:
        return letters_for("unsigned" if fixed.group(1) else "signed", int(fixed.group(2)) // 8)
    blas = _BLAS_TYPE.fullmatch(name)
    if blas is not None:
        return _BY_C_TYPE[_BLAS_TYPES[blas.group(1)]]
    if name == "char":
        # Plain char has a sign on x86 and none on Arm.
        is_signed = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")
        return letters_for("signed" if is_signed else "unsigned", 1)
    if words and set(words) <= {"signed", "unsigned", "short", "long", "int", "char"}:
        spelt: list[str] = [word for word in ("unsigned", "short") if word in words]
        spelt += ["long"] * words.count("long")
        if "char" in words:
            spelt = ["unsigned" if "unsigned" in words else "signed", "char"]
        elif not {"short", "long"} & set(words):
            spelt.append("int")
        return _BY_C_TYPE.get(" ".join(spelt))
    return None


def letters_of(text: str, string_of_char: bool = False) -> str:
    """`unsigned int` -> "I", `const double *` -> "&d", `char const *` -> "s", `struct x *` -> "P".
    `string_of_char`: `char *` is a string, too (cffi forgets `const`). ValueError for what has no
    code."""
    words = text.replace("*", " * ").split()
    if "(" in text or "[" in text:
        return _BY_C_TYPE["void *"]  # a pointer to a function, or an array that decays
    stars = words.count("*")
    is_const = "const" in words
    if stars and words[-1] != "*" and words[-1] not in _QUALIFIERS:
        words = words[:-1]  # a parameter's name
    base = [word for word in words if word != "*" and word not in _QUALIFIERS]
    if stars == 0:
        letters = _value_letters(base)
        if letters is None and len(base) > 1:
            letters = _value_letters(base[:-1])
        if letters is None:
            known = ", ".join(name for name in _BY_C_TYPE if "*" not in name)
            raise ValueError(f"no type code for the C type {text!r}; there are {known}")
        return letters
    if base == ["PyObject"] and stars == 1:
        return _BY_C_TYPE["PyObject *"]
    if base == ["char"] and stars == 1 and (is_const or string_of_char):
        return _BY_C_TYPE["const char *"]
    letters = _value_letters(base) if stars == 1 else None
    if letters is None or CODES[letters].kind == "void":
        return _BY_C_TYPE["void *"]
    return "&" + letters


def split(parameters: str) -> list[str]:
    """At the commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(parameters):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(parameters[start:at])
            start = at + 1
    return [part.strip() for part in parts + [parameters[start:]]]


def parse_declaration(text: str) -> Declaration:
    """`double (int, double *)` as Cython and SciPy write it. ValueError for anything else."""
    found = re.fullmatch(r"\s*([^()]+?)\s*\((.*)\)\s*", text)
    if found is None:
        raise ValueError(f"not the type of a C function: {text!r}")
    texts = [] if found.group(2).strip() in ("", "void") else split(found.group(2))
    if "..." in texts:
        raise ValueError(f"a function with variable arguments has no signature: {text!r}")
    arguments = [letters_of(part) for part in texts]
    if "v" in arguments:
        raise ValueError(f"a parameter cannot be void: {text!r}")
    _join_buffers(texts, arguments)
    return Declaration(arguments, letters_of(found.group(1)), texts, name_in(found.group(1)))


# `const double x[n]`, in front of `Py_ssize_t n`.
_ARRAY = re.compile(r"(.*\W)\w+\s*\[\s*([A-Za-z_]\w*)\s*\]")


def _join_buffers(texts: list[str], arguments: list[str]) -> None:
    """An array whose length is the next parameter is a buffer, one of const char a text, and the two
    are one argument of Python's. A pointer in front of a number says nothing of the kind."""
    for at in range(len(texts) - 2, -1, -1):
        array = _ARRAY.fullmatch(texts[at])
        if array is None or array.group(2) != name_in(texts[at + 1]):
            continue
        if is_buffer(arguments[at + 1]):
            raise ValueError(f"each buffer has a length of its own behind it, {texts[at]!r} has none")
        count = CODES.get(arguments[at + 1])
        if count is None or (count.kind, count.size) != ("signed", CODES["n"].size):
            raise ValueError(f"the length of a buffer is a Py_ssize_t, not {texts[at + 1]!r}")
        element = letters_of(array.group(1))
        const = "k" if "const" in array.group(1).split() else ""
        is_text = letters_of(array.group(1) + "*") == "s"
        arguments[at : at + 2] = ["*s" if is_text else f"*{const}{element}"]
        texts[at : at + 2] = [f"{texts[at]}, {texts[at + 1]}"]


def name_in(text: str) -> str:
    """`gcd` of `unsigned int gcd`; "" where there is only a type, which no name is part of."""
    _, star, name = text.rpartition("*")
    if not star:
        words = [word for word in text.split() if word not in _QUALIFIERS]
        if len(words) < 2 or _value_letters(words) is not None:
            return ""
        name = words[-1]
    name = name.strip()
    return name if name.isidentifier() and name not in _QUALIFIERS else ""


def c_types(
    signature: str, names: dict[str, str] | None = None, const: str = "const {}"
) -> tuple[list[str], str]:
    """`i&d->d` as (['int', 'double *'], 'double'); `names` are other C names, by letters, and `const`
    how a type is spelt that may only be read. A buffer is two parameters: `*kd->d` has
    'const double *' and 'intptr_t'."""

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
    """`i&d->d` as `double (int, double *)`, with the spaces that Cython and SciPy have."""
    arguments, result = c_types(signature, names, const)
    space = "" if result.endswith("*") else " "
    return "{}{}({})".format(result, space, ", ".join(arguments) or "void")
